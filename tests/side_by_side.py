"""Runs commands at once: `python -m tests.side_by_side NAME COMMAND [NAME COMMAND ...]`; fails if any fails.

Each line they write comes out whole, behind the name of its command. One that fails does not stop the others.
"""

import shlex
import subprocess
import sys
import threading
import time


def main(arguments: list[str]) -> int:
    commands = dict(zip(arguments[::2], arguments[1::2], strict=True))
    width, codes = max(map(len, commands)), dict.fromkeys(commands, 1)

    def run(name: str) -> None:
        start = time.monotonic()
        with subprocess.Popen(
            shlex.split(commands[name]), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            assert process.stdout
            for line in process.stdout:
                print(f"{name:{width}} | {line}", end="", flush=True)
        codes[name] = process.returncode
        verdict = "passed" if process.returncode == 0 else f"FAILED with exit code {process.returncode}"
        print(f"{name:{width}} | {verdict} after {time.monotonic() - start:.0f} s", flush=True)

    threads = [threading.Thread(target=run, args=(name,)) for name in commands]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return int(any(codes.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
