"""Makes the golden log of the current schema: a whole run on the simulated target, and what it comes to.

Run it once for each released schema, never again for one that was released: `python tests/golden/generate.py 0.1`.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from kernelwright.events.log import EventLog  # noqa: E402  as above
from kernelwright.events.transfer import export_run  # noqa: E402  as above
from kernelwright.events.views.digest import state_digest  # noqa: E402  as above
from kernelwright.events.views.summary import run_summary  # noqa: E402  as above
from support.loops import whole_run  # noqa: E402  the folder of the support code comes first


def main(schema: str) -> None:
    """Write the export and what its replay must give."""
    export = HERE / f"schema-{schema}.jsonl"
    if export.exists():
        raise SystemExit(f"{export} is there already: a released schema has one golden log for ever")
    with tempfile.TemporaryDirectory() as folder:
        log = EventLog.open(f"{folder}/log.sqlite", create=True)
        view = whole_run(log, "golden")
        export.write_text("".join(f"{line}\n" for line in export_run(log, "golden")), encoding="utf-8")
        expected = {"state": state_digest(view), "summary": run_summary(view)}
        log.close()
    export.with_suffix(".json").write_text(json.dumps(expected, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
