// Runs a Python file under Pyodide in Node: node run.mjs FOLDER FILE ARGUMENTS...
// FOLDER appears as /mounted; FILE is a path inside of it.  Wheels in FOLDER are installed first.  What Python prints is printed; its
// exit status is ours.

import { readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { loadPyodide } from "pyodide";

const [folder, file, ...args] = process.argv.slice(2);
const python = await loadPyodide({ stdout: (line) => console.log(line), stderr: (line) => console.error(line) });
const wheels = readdirSync(folder).filter((name) => name.endsWith(".whl"));
if (wheels.length) await python.loadPackage(wheels.map((name) => resolve(join(folder, name))), { messageCallback: () => {} });
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
