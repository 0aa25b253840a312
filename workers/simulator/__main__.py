"""`python -m workers.simulator --port N --host 127.0.0.1 --latency 0.35`"""

import argparse
import sys

from workers.simulator.serving import serve


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m workers.simulator", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8090)
    parser.add_argument("--latency", type=float, default=0.35, help="seconds before each answer")
    given = parser.parse_args()
    sys.stderr.write(f"simulated Messages API on http://{given.host}:{given.port}\n")
    serve(given.host, given.port, given.latency)


if __name__ == "__main__":
    main()
