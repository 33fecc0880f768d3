"""An installation that is started from Python, against a command that stands in for `espalier`."""

import contextlib
import io
import os
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import espalier_rl as er
from espalier_rl.server import main

UP = """#!/bin/sh
[ "$1" = up ] || exit 3
echo "data in $ESPALIER_HOME"
echo "GraphQL http://127.0.0.1:$ESPALIER_PORT/graphql   events in: POST http://127.0.0.1:$ESPALIER_PORT/v1/events"
exec sleep 1000
"""


class Servers(unittest.TestCase):
    def command(self, text):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        file = Path(folder.name, "espalier")
        file.write_text(text)
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
        return mock.patch.dict(os.environ, {"ESPALIER_BIN": str(file)})

    def test_serve_without_a_class_starts_an_installation_and_names_it_to_connect(self):
        with self.command(UP), er.serve(port=4321, home="/nowhere") as server:
            self.assertEqual((server.url, os.environ["ESPALIER_URL"], os.environ["ESPALIER_HOME"]), ("http://127.0.0.1:4321", "http://127.0.0.1:4321", "/nowhere"))
            process = server._process
            self.assertIsNone(process.poll())
        self.assertIsNotNone(process.poll())

    def test_a_command_that_does_not_start_is_named_with_what_it_said(self):
        for text, said in (("#!/bin/sh\necho 'port 4000 is taken'; exit 1\n", "port 4000 is taken"), (None, "No such file")):
            patched = self.command(text) if text else mock.patch.dict(os.environ, {"ESPALIER_BIN": "/nowhere/espalier"})
            with patched, self.assertRaisesRegex(er.EspalierError, f"up did not start: .*{said}.*; pip install 'espalier-rl") as refused:
                er.serve()
            self.assertEqual(refused.exception.field, "ESPALIER_BIN")

    def test_without_a_server_package_and_without_node_the_remedy_is_to_install_it(self):
        with mock.patch.dict(os.environ, {"PATH": "/nowhere", "ESPALIER_BIN": ""}), mock.patch.dict(sys.modules, {"espalier_rl_server": None}):
            with self.assertRaisesRegex(er.EspalierError, r"not installed; pip install 'espalier-rl\[server\]'") as refused:
                er.serve()
            self.assertEqual(refused.exception.code, "not-found")
            with contextlib.redirect_stderr(io.StringIO()) as said:
                self.assertEqual(main(), 2)
            self.assertIn("espalier: the server of Espalier is not installed", said.getvalue())

    def test_a_command_that_npx_started_is_not_looked_for_by_npx_again(self):
        with tempfile.TemporaryDirectory() as folder:
            npx = Path(folder, "npx")
            npx.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "import sys; from espalier_rl.server import main; sys.exit(main())"\n')
            npx.chmod(0o755)
            environment = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "ESPALIER_BIN": "", "PYTHONPATH": str(Path(er.__file__).parents[1])}
            ended = subprocess.run([str(npx)], env=environment, capture_output=True, text=True, timeout=60)
        self.assertEqual((ended.returncode, ended.stderr.count("is not installed")), (2, 1))


if __name__ == "__main__":
    unittest.main()
