"""demo.py BUILD - how the demo's report ends: 0 where nothing was found wrong, though a part is missing; else not."""
import os
import shutil
import subprocess
import sys
import tempfile

import checking
from checking import putter, want
from samples import log, result, sweep

HERE = os.path.dirname(os.path.abspath(__file__))

with tempfile.TemporaryDirectory() as d:  # a checkout of which the tests were not built: their results are missing
    for folder in ("scripts", "build/bin", "build/demo", "fixtures/field"):
        os.makedirs(os.path.join(d, folder))
    shutil.copy(os.path.join(HERE, "../../scripts/report.sh"), os.path.join(d, "scripts"))

    put = putter(d)

    def report():
        run = subprocess.run(["sh", os.path.join(d, "scripts/report.sh")], capture_output=True, text=True, check=False)
        return run.returncode, run.stderr

    program = "build/bin/oomproof"
    put(program, f"#!/bin/sh\nexec '{os.path.abspath(sys.argv[1])}/{program[6:]}' \"$@\"\n")
    os.chmod(os.path.join(d, program), 0o755)
    good = [result(k, m) for k in range(1, 6) for m in ("once", "persistent")]
    put("build/demo/budget.jsonl", log(2))
    put("build/demo/sweep.json", sweep(good))
    put("build/demo/budgets.json", sweep([result(-1, "budget", budget=1000)], "other"))
    code, said = report()
    want(code == 0 and "nothing was found wrong in what is here" in said, f"parts are missing: {code} {said}")
    put("build/demo/sweep.json", sweep(good[:9] + [result(5, "persistent", "leak")]))
    code, said = report()
    want(code == 1 and "1 finding" in said, f"something is wrong: {code} {said}")
    put("build/demo/sweep.json", sweep(good))
    put(program, "#!/bin/sh\nexit 2\n")
    code, said = report()
    want(code == 2, f"no report was made, and an older one does not count: {code} {said}")
sys.exit(checking.failed)
