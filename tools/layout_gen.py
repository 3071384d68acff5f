#!/usr/bin/python3
"""Writes the layout asserts of a plugin header: layout_gen.py plugin-api/wharf/plugin.h > plugin-api/abi/layout-1.0.c

One assert per member for offset and type, per enumerator for value, per closed value struct for size (docs/reference/plugin-abi.md section
4.4, check 2). Compiled against every later header: appending passes, everything else fails.
"""
import io
import pathlib
import subprocess
import sys
import tempfile

from pycparser import c_ast, c_generator, c_parser

FAKE = "/usr/share/python3-pycparser/fake_libc_include"
CLOSED = {"wharf_head", "wharf_str", "wharf_val"}  # passed by value or in arrays: their size is fixed for ever


def parse(header):
    text = subprocess.run(["gcc", "-E", "-P", "-I", FAKE, "-D__attribute__(x)=", header], check=True, capture_output=True, text=True).stdout
    return c_parser.CParser().parse(text)


def members(struct):
    """(name, abstract type text) of each direct member."""
    generator = c_generator.CGenerator()
    for decl in struct.decls or []:
        if decl.name is None or isinstance(decl.type, (c_ast.Struct, c_ast.Union)) or not has_type_text(decl.type):
            yield decl.name, None
            continue
        hole = decl_without_name(decl)
        yield decl.name, generator.visit(hole)


def has_type_text(node):
    while isinstance(node, (c_ast.PtrDecl, c_ast.TypeDecl, c_ast.ArrayDecl)):
        node = node.type
    return not isinstance(node, (c_ast.Struct, c_ast.Union))


def decl_without_name(decl):
    node = decl.type
    while not isinstance(node, c_ast.TypeDecl):
        node = node.type
    node.declname = None
    return c_ast.Typename(None, decl.quals, None, decl.type)


def main():
    header = sys.argv[1]
    tree = parse(header)
    sizes, offsets, enums = [], [], []
    for ext in tree.ext:
        node = ext.type
        if isinstance(ext, c_ast.Typedef) and isinstance(node, c_ast.TypeDecl) and isinstance(node.type, c_ast.Struct) and node.type.decls:
            offsets.append((ext.name, ext.name, list(members(node.type))))
            if ext.name in CLOSED:
                sizes.append(ext.name)
        elif isinstance(ext, c_ast.Decl) and isinstance(node, c_ast.Struct) and node.decls:
            offsets.append((node.name, "struct " + node.name, list(members(node))))
        elif isinstance(ext, c_ast.Decl) and isinstance(node, c_ast.Enum) and node.values:
            enums.append([e.name for e in node.values.enumerators])
    offsets = [o for o in offsets if o[0].startswith("wharf_")]
    enums = [names for names in enums if names[0].startswith("WHARF_")]
    probe = ['#include <stdio.h>\n#include "wharf/plugin.h"\nint main(void) {']
    for name in sizes:
        probe.append(f'printf("_Static_assert(sizeof({name}) == %zu, \\"{name} is closed\\");\\n", sizeof({name}));')
    for name, ctype, list_of in offsets:
        for member, _ in list_of:
            if member:
                probe.append(f'printf("_Static_assert(offsetof({ctype}, {member}) == %zu, \\"{name}.{member} moved\\");\\n", '
                             f"offsetof({ctype}, {member}));")
    for names in enums:
        for name in names:
            probe.append(f'printf("_Static_assert({name} == %d, \\"{name} changed\\");\\n", (int){name});')
    probe.append("return 0; }")
    base = header.rsplit("/wharf/", 1)[0]
    folder = tempfile.TemporaryDirectory()
    program = folder.name + "/probe"
    subprocess.run(["gcc", "-std=gnu11", "-I", base, "-x", "c", "-", "-o", program], input="\n".join(probe), text=True, check=True)
    out = io.StringIO()
    sys.stdout, stdout = out, sys.stdout
    print("/* Made by tools/layout_gen.py when this minor was released; never edited. Compiles against every later header. */")
    print('#include "wharf/plugin.h"\n')
    print(subprocess.run([program], check=True, capture_output=True, text=True).stdout, end="")
    for name, ctype, list_of in offsets:
        for member, text in list_of:
            if member and text:
                print(f'_Static_assert(__builtin_types_compatible_p(__typeof__((({ctype} *)0)->{member}), {text}), "{name}.{member} has another type");')
    sys.stdout = stdout
    style = ["clang-format", "--style=file", "--assume-filename", str(pathlib.Path(__file__).resolve().parents[1] / "layout.c")]
    print(subprocess.run(style, input=out.getvalue(), check=True, capture_output=True, text=True).stdout, end="")


if __name__ == "__main__":
    main()
