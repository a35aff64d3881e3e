"""schema_check.py SCHEMA FILE [FILE ...]: every file is one JSON document that the schema accepts, and the schema is
one itself."""

import json
import sys

import jsonschema


def refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


with open(sys.argv[1], encoding="utf-8") as file:
    schema = json.load(file)
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
bad = 0
for path in sys.argv[2:]:
    with open(path, encoding="utf-8") as file:
        document = json.load(file, parse_constant=refuse)
    for error in validator.iter_errors(document):
        bad += 1
        print(f"{path}: {'/'.join(map(str, error.absolute_path))}: {error.message[:200]}")
sys.exit(bad > 0)
