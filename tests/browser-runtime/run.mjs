// Runs a Python file under Pyodide in Node: node run.mjs FOLDER FILE ARGUMENTS...
// FOLDER appears as /mounted; FILE is a path inside of it.  What Python prints is printed; its exit status is ours.

import { loadPyodide } from "pyodide";

const [folder, file, ...args] = process.argv.slice(2);
const python = await loadPyodide({ stdout: (line) => console.log(line), stderr: (line) => console.error(line) });
python.mountNodeFS("/mounted", folder);
python.globals.set("_arguments", python.toPy([`/mounted/${file}`, ...args]));
process.exitCode = python.runPython(`
import runpy, sys
sys.argv = list(_arguments)
sys.path.insert(0, sys.argv[0].rpartition("/")[0])
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
    status = 0
except SystemExit as stop:
    status = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
status
`);
