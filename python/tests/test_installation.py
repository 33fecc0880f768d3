import os
import pathlib
import tempfile
import unittest
from unittest import mock

from espalier_rl.installation import find_token, find_url, name_for_spools


class Installation(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.TemporaryDirectory()
        self.addCleanup(self.home.cleanup)
        pathlib.Path(self.home.name, "token").write_text("local\n")

    def found(self, url, **env):
        with mock.patch.dict(os.environ, {"ESPALIER_HOME": self.home.name, **env}, clear=True):
            return find_token(url)

    def test_the_token_of_this_machine_is_shown_to_servers_on_loopback_and_to_no_other(self):
        for url in ["http://127.0.0.1:4000", "http://localhost", "http://[::1]:1", "http://127.9.9.9"]:
            self.assertEqual(self.found(url), "local", url)
        for url in ["http://10.0.0.1:4000", "https://lab.example", "http://localhost.example", "http://127.0.0.1.example", "x"]:
            self.assertIsNone(self.found(url), url)

    def test_what_the_environment_gives_goes_before_the_file(self):
        self.assertEqual(self.found("https://lab.example", ESPALIER_TOKEN="key"), "key")
        self.assertEqual(self.found("http://localhost", ESPALIER_TOKEN="key"), "key")

    def test_a_key_is_read_from_the_file_that_the_environment_names_as_a_mounted_secret_is(self):
        file = pathlib.Path(self.home.name, "key")
        file.write_text("mounted\n")
        self.assertEqual(self.found("https://lab.example", ESPALIER_TOKEN_FILE=str(file)), "mounted")
        self.assertEqual(self.found("https://lab.example", ESPALIER_TOKEN_FILE=str(file), ESPALIER_TOKEN="key"), "key")
        with self.assertRaisesRegex(ValueError, "ESPALIER_TOKEN_FILE is .*/none, which cannot be read"):
            self.found("https://lab.example", ESPALIER_TOKEN_FILE=self.home.name + "/none")

    def test_an_installation_without_a_token_has_none(self):
        self.assertIsNone(self.found("http://localhost", ESPALIER_HOME=self.home.name + "/none"))

    def test_the_token_is_that_of_the_nearest_folder_above_that_has_one_where_no_home_is_named(self):
        checkout = pathlib.Path(self.home.name).resolve()
        for folder, token in ((checkout, "above"), (checkout / "examples", None), (checkout / "examples/notebooks", None)):
            folder.mkdir(exist_ok=True)
            if token:
                (folder / ".espalier").mkdir()
                (folder / ".espalier/token").write_text(token)
        with mock.patch.dict(os.environ, {}, clear=True), mock.patch("pathlib.Path.cwd", return_value=checkout / "examples/notebooks"):
            self.assertEqual(find_token("http://localhost:4000"), "above")
            self.assertIsNone(find_token("http://10.0.0.1:4000"))
            (checkout / "examples/notebooks/.espalier").mkdir()
            (checkout / "examples/notebooks/.espalier/token").write_text("nearer")
            self.assertEqual(find_token("http://localhost:4000"), "nearer")

    def test_files_of_another_account_are_passed_over_and_address_and_token_are_of_one_folder(self):
        above = pathlib.Path(self.home.name).resolve()
        here = above / "here"
        for folder, port in ((above, 1), (here, 2)):
            (folder / ".espalier").mkdir(parents=True)
            (folder / ".espalier/url").write_text(f"http://127.0.0.1:{port}")
        (above / ".espalier/token").write_text("above")
        with mock.patch.dict(os.environ, {}, clear=True), mock.patch("pathlib.Path.cwd", return_value=here):
            self.assertEqual((find_url(), find_token("http://127.0.0.1:2")), ("http://127.0.0.1:2", None))
            with mock.patch("os.getuid", return_value=os.getuid() + 1):
                self.assertEqual((find_url(), find_token("http://127.0.0.1:4000")), ("http://127.0.0.1:4000", None))

    def test_spools_are_kept_by_the_folder_of_the_installation_unless_a_server_is_named(self):
        with mock.patch.dict(os.environ, {"ESPALIER_HOME": self.home.name}, clear=True):
            before = name_for_spools(None)
            pathlib.Path(self.home.name, "url").write_text("http://127.0.0.1:35471\n")
            self.assertEqual(name_for_spools(None), before)
            self.assertEqual(name_for_spools("http://127.0.0.1:35471"), "http://127.0.0.1:35471")
        with mock.patch.dict(os.environ, {"ESPALIER_HOME": self.home.name, "ESPALIER_URL": "http://lab:1"}, clear=True):
            self.assertEqual(name_for_spools(None), "http://lab:1")

    def test_the_server_is_that_of_the_environment_or_of_this_machine(self):
        with mock.patch.dict(os.environ, {"ESPALIER_URL": "http://lab:1"}, clear=True):
            self.assertEqual(find_url(), "http://lab:1")
        with mock.patch.dict(os.environ, {"ESPALIER_HOME": self.home.name}, clear=True):
            self.assertEqual(find_url(), "http://127.0.0.1:4000")
        with mock.patch.dict(os.environ, {"ESPALIER_HOME": self.home.name, "ESPALIER_PORT": "4833"}, clear=True):
            self.assertEqual(find_url(), "http://127.0.0.1:4833")

    def test_the_server_is_where_the_installation_of_the_folder_is_served_if_that_is_this_machine(self):
        with mock.patch.dict(os.environ, {"ESPALIER_HOME": self.home.name, "ESPALIER_PORT": "0"}, clear=True):
            pathlib.Path(self.home.name, "url").write_text("http://127.0.0.1:35471\n")
            self.assertEqual(find_url(), "http://127.0.0.1:35471")
            pathlib.Path(self.home.name, "url").write_text("http://elsewhere.example:80\n")
            self.assertEqual(find_url(), "http://127.0.0.1:4000")
            pathlib.Path(self.home.name, "url").write_text("http://127.0.0.1:35471\nhttp://127.0.0.1:35472\n")
            self.assertEqual(find_url(), "http://127.0.0.1:35472")
