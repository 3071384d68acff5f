"""Finds waits of tests that a slow machine does not meet. The gate `waits` (gates.py) reads every test with it."""
import ast

WAIT_SECONDS = 300  # WAIT of tests/api/wharf.py
# Functions whose numbers are seconds to wait.
WAITERS = {"until", "soon", "wait_until", "over", "wait", "settle", "settimeout", "create_connection", "connect", "communicate"}


def short_waits(source):
    """Yields the line numbers of waits in a test's source that may end before WAIT: `timeout=` of any call, the seconds of a function that waits, the
    default of a parameter with such a name, an end that is less away than WAIT, and a loop that sleeps so many times and no more."""
    short = lambda node: isinstance(node, ast.Constant) and type(node.value) in (int, float) and 1 < node.value < WAIT_SECONDS  # noqa: E731
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            last = node.args.args[len(node.args.args) - len(node.args.defaults):]
            if any(arg.arg in ("timeout", "seconds") and short(value) for arg, value in zip(last, node.args.defaults)) and node.name in WAITERS:
                yield node.lineno
        elif isinstance(node, ast.BinOp) and ast.unparse(node.left) == "time.monotonic()" and short(node.right):
            yield node.lineno
        elif isinstance(node, ast.For) and ast.unparse(node.target) == "_" and any(isinstance(x, (ast.Break, ast.Return)) for x in ast.walk(node)) and any(
                isinstance(x, ast.Call) and ast.unparse(x.func) == "time.sleep" for x in ast.walk(node)):
            yield node.lineno
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if any(k.arg == "timeout" and short(k.value) or k.arg == "seconds" and name in WAITERS and short(k.value) for k in node.keywords):
                yield node.lineno
            place = 0 if name == "settimeout" or ast.unparse(node.func).endswith("process.wait") else 1 if name in (
                "until", "wait_until", "soon", "create_connection") else None
            if place is not None and any(short(arg) for arg in node.args[place:]):
                yield node.lineno
