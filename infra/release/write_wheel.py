"""Writes a wheel: `write_wheel.py FOLDER FILE.whl`. The folder holds the packages, and METADATA, which goes where a wheel has it."""

import base64
import hashlib
import sys
import zipfile
from pathlib import Path

folder, target = Path(sys.argv[1]), Path(sys.argv[2])
name, version, _, _, tag = target.stem.split("-")
info = f"{name}-{version}.dist-info"
(folder / info).mkdir(exist_ok=True)
(folder / "METADATA").rename(folder / info / "METADATA")
(folder / info / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: espalier\nRoot-Is-Purelib: false\nTag: py3-none-{tag}\n")
record = []
with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as wheel:

    def add(path: str, data: bytes, mode: int) -> None:
        entry = zipfile.ZipInfo(path, date_time=(1980, 1, 1, 0, 0, 0))  # the same bytes from the same contents
        entry.external_attr = (0o100000 | mode) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        wheel.writestr(entry, data)

    for file in sorted(each for each in folder.rglob("*") if each.is_file()):
        data, path = file.read_bytes(), file.relative_to(folder).as_posix()
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record.append(f"{path},sha256={digest},{len(data)}\n" if "," not in path else f'"{path}",sha256={digest},{len(data)}\n')
        add(path, data, 0o755 if file.stat().st_mode & 0o111 else 0o644)
    add(f"{info}/RECORD", "".join([*record, f"{info}/RECORD,,\n"]).encode(), 0o644)
