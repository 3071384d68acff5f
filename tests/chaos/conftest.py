"""--long: the form that is run by hand before a release."""
import contextlib

def pytest_addoption(parser):
    with contextlib.suppress(ValueError):  # another folder of the same run has said it
        parser.addoption("--long", action="store_true", help="as many faults as the acceptance of the suite asks for")
