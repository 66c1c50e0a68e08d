#!/bin/sh -eu
# Boots Debian's kernel 6.1 in QEMU (software emulation) with the fairwave command, the programs in
# $PROGRAMS and the modules in $MODULES, and says in the file `said` what came of it. Arguments: the
# directory to work in, which has the guest's init as `guest.sh` and in `files` what lies in its
# root; the directory that keeps the kernel; and the command.
place=$1 kernel=$2 fairwave=$3
mkdir -p "$kernel"
cd "$kernel"
if [ ! -e kernel/boot ]; then
    package=$(apt-cache search '^linux-image-6.1.0-[0-9]*-amd64$' | cut -d' ' -f1 | sort -V | tail -1)
    apt-get download -q "$package"
    dpkg -x "$package"_*.deb kernel
fi
version=$(basename kernel/lib/modules/*)
cd "$place"
rm -rf root && mkdir -p root/bin root/proc root/sys root/dev root/tmp root/run root/etc root/modules
cp "$(command -v busybox)" root/bin/busybox
for program in "$fairwave" $(for name in $PROGRAMS; do command -v "$name"; done); do
    cp "$program" root/bin/
    ldd "$program" | grep -o '/[^ ]*' | while read -r library; do
        mkdir -p "root$(dirname "$library")"
        cp -Lu "$library" "root$library"
    done
done
strip -o root/bin/fairwave "$fairwave"
for module in $MODULES; do
    cp "$kernel/kernel/lib/modules/$version/kernel/$module.ko" root/modules/
done
cp files/* root/ 2> /dev/null || true
cp guest.sh root/init
chmod +x root/init
(cd root && find . | busybox cpio -o -H newc 2> /dev/null | gzip -1) > initramfs
timeout 500 qemu-system-x86_64 -M q35 -cpu max -smp 2 -m 1536 -accel tcg,thread=multi -nographic -no-reboot \
    -kernel "$kernel/kernel/boot/vmlinuz-$version" -initrd initramfs -append 'console=ttyS0 quiet panic=-1' \
    < /dev/null > said
