"""--long: the form that is run by hand before a release."""


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="as many faults as the acceptance of the suite asks for")
