#!/bin/sh -eu
# Boots Debian's kernel 6.1 in QEMU (software emulation) with programs of ours, the programs in
# $PROGRAMS, those of the Debian packages in $PACKAGES among them, and the modules in $MODULES. What
# came of it is in the file `said`, and the packages' versions in `packages`. Arguments: the
# directory to work in, which has the guest's init as `guest.sh` and in `files` what lies in its
# root; the directory that keeps the kernel; and our programs.
place=$1 kernel=$2
shift 2
mkdir -p "$kernel"
cd "$kernel"
if [ ! -e kernel/boot ]; then
    package=$(apt-cache search '^linux-image-6.1.0-[0-9]*-amd64$' | cut -d' ' -f1 | sort -V | tail -1)
    apt-get download -q "$package"
    dpkg -x "$package"_*.deb kernel
fi
version=$(basename kernel/lib/modules/*)
# Unpacked, not installed: this machine shall not run their services.
unpacked=$kernel/packages
for package in $PACKAGES; do
    if [ ! -e "$unpacked/$package.version" ]; then
        apt-get download -q "$package" >&2
        dpkg -x "$package"_*.deb "$unpacked"
        dpkg-deb -f "$package"_*.deb Version > "$unpacked/$package.version"
    fi
    echo "$package $(cat "$unpacked/$package.version")"
done > "$place/packages"
PATH=$PATH:$unpacked/usr/sbin:$unpacked/sbin:$unpacked/usr/bin
libraries=$unpacked/usr/lib/x86_64-linux-gnu:$unpacked/lib/x86_64-linux-gnu
cd "$place"
rm -rf root && mkdir -p root/bin root/proc root/sys root/dev root/tmp root/run root/etc root/modules
cp "$(command -v busybox)" root/bin/busybox
for program in "$@" $(for name in $PROGRAMS; do command -v "$name"; done); do
    cp "$program" root/bin/
    # A static program needs none.
    LD_LIBRARY_PATH=$libraries ldd "$program" > needed 2>&1 || true
    if grep 'not found' needed; then echo "$program: PACKAGES lacks a library's" >&2; exit 1; fi
    grep -o '/[^ ]*' needed | while read -r library; do
        inside=${library#"$unpacked"}
        mkdir -p "root$(dirname "$inside")"
        cp -Lu "$library" "root$inside"
    done
done
for ours in "$@"; do strip -o "root/bin/$(basename "$ours")" "$ours"; done
for module in $MODULES; do
    cp "$kernel/kernel/lib/modules/$version/kernel/$module.ko" root/modules/
done
cp files/* root/ 2> /dev/null || true
cp guest.sh root/init
chmod +x root/init
(cd root && find . | busybox cpio -o -H newc 2> /dev/null | gzip -1) > initramfs
# Where others take the cores away, the guest would find its timer broken when it checks that.
# Clock and radios of the guest run in real time, so that it comes before other programs, if root boots it.
nice -n -10 timeout 1800 qemu-system-x86_64 -M q35 -cpu max -smp 2 -m 1536 -accel tcg,thread=multi -nographic -no-reboot \
    -kernel "$kernel/kernel/boot/vmlinuz-$version" -initrd initramfs -append 'console=ttyS0 quiet panic=-1 no_timer_check' \
    < /dev/null > said
