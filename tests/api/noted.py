"""Answers that tests got, written down when WHARF_REACHED names a file: for tools/reached.py."""
import os
import urllib.parse

import requests


def note_answer(method, path, status):
    """Writes down an answer, for tools/reached.py, when that is wanted."""
    if "WHARF_REACHED" in os.environ:
        with open(os.environ["WHARF_REACHED"], "a") as reached:
            reached.write(f"{method} {urllib.parse.urlsplit(path).path} {status}\n")


def note_answers():
    """Every answer to requests is noted from now on, also those of clients that are not Client. None asks the environment for a proxy: that took a tenth of their time."""
    send = requests.Session.send

    def noted(self, request, **more):
        self.trust_env = False
        r = send(self, request, **more)
        note_answer(request.method, request.url, r.status_code)
        return r
    requests.Session.send = noted


note_answers()
