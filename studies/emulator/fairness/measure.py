"""How 2 to 7 terminals share an access point: `fairwave fairness run` in each on the kernel's TCP, and the simulator's flows.

    python3 measure.py fairwave OUT [COUNT,... [REPETITIONS]]

prints rows of Markdown as they come. A repetition is 20 s on the kernel's sockets, in real time, and a seed in the simulator.
"""

import json
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = 20
CODE = "acodeofthismeasurement"  # both ends are in namespaces that nobody else reaches
STUDENT_95 = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 10: 2.262}  # t for so many values


def run(words):
    done = subprocess.run(words, capture_output=True, text=True)
    # 4: late. The row says so.
    if done.returncode not in (0, 4):
        raise SystemExit(f"{' '.join(words)}\n{done.stderr}{done.stdout}")
    return done.returncode


def scenario(fairwave, verb, out, count):
    words = [fairwave, verb, f"{HERE}/uploads.toml", "--quiet", "--json", "--force", "--out", out]
    return words + ["--set", f"node.linux.count={count}", "--set", f"node.conv-l.count={count}"]


def interval(values):
    """A mean, and the half width of its interval at 95 %."""
    half = STUDENT_95[len(values)] * statistics.stdev(values) / len(values) ** 0.5
    return statistics.mean(values), half


def jain(rates):
    return sum(rates) ** 2 / (len(rates) * sum(rate * rate for rate in rates))


def emulated(fairwave, out, count, repetitions):
    """Payload of each terminal in each repetition, in Mbps, and whether the run was late."""
    server = f"{fairwave} fairness serve --pairing {CODE}"
    station = f"{fairwave} fairness run server --pairing {CODE} --hosts {count} --name $FAIRWAVE_NODE"
    station += f" -t {SECONDS} -i 5 -C reno -w 64K -n {repetitions} --json"
    words = scenario(fairwave, "emulate", out, count)
    lasts = repetitions * (SECONDS + 1) + 8
    # The scenario's own flows are the simulator's: here they begin when all is over.
    words += ["--set", f'flow.linux.start="{lasts} s"', "--set", 'flow.linux.start_spread="0 s"']
    words += ["--set", "sweep.seeds=1", "--for", f"{lasts + 1} s"]
    code = run(words + ["--exec", f"server={server}", "--exec", f"linux*@300 ms={station}"])
    with open(f"{out}/programs/linux1.log") as file:
        text = file.read()
    found = json.loads(text[text.index("{"):])
    if "error" in found and found["error"]:
        raise SystemExit(f"{out}: {found['error']}")
    bits = [[sum(map(sum, (flow["bytes"] for flow in one["flows"]))) * 8 for one in each["stations"]]
            for each in found["record"]["repetitions"]]
    return [[one / SECONDS / 1e6 for one in each] for each in bits], code != 0


def simulated(fairwave, out, count, repetitions):
    words = scenario(fairwave, "sweep", out, count) + ["--set", f"sweep.seeds={repetitions}"]
    run(words)
    found = []
    for directory, _, files in sorted(os.walk(out)):
        if "summary.json" in files:
            with open(f"{directory}/summary.json") as file:
                found.append([flow["goodput_bps"] / 1e6 for flow in json.load(file)["flows"]])
    return found


def cells(runs):
    total, total_half = interval([sum(each) for each in runs])
    index, index_half = interval([jain(each) for each in runs])
    least, most = (statistics.mean(pick(each) for each in runs) for pick in (min, max))
    return [f"{total:.2f} ± {total_half:.2f}", f"{index:.3f} ± {index_half:.3f}", f"{least:.2f}, {most:.2f}"]


def main(fairwave, out, counts="2,3,4,5,6,7", repetitions="5"):
    print("| terminals | total, kernel (Mbps) | Jain | least, most | total, simulator (Mbps) | Jain | least, most | |")
    print("|---:|---:|---:|---:|---:|---:|---:|---|", flush=True)
    for count in map(int, counts.split(",")):
        kernel, is_late = emulated(fairwave, f"{out}/kernel-{count}", count, int(repetitions))
        beside = simulated(fairwave, f"{out}/simulator-{count}", count, int(repetitions))
        row = [str(count), *cells(kernel), *cells(beside), "late" if is_late else ""]
        print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
