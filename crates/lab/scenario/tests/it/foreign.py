"""Reads scenarios as TOML and validates them by a JSON schema; prints what is wrong."""

import json
import sys
import tomllib

import jsonschema

given = json.load(sys.stdin)
jsonschema.Draft202012Validator.check_schema(given["schema"])
validator = jsonschema.Draft202012Validator(given["schema"])
for name, text in given["texts"]:
    try:
        best = jsonschema.exceptions.best_match(validator.iter_errors(tomllib.loads(text)))
    except tomllib.TOMLDecodeError as refusal:
        print(f"{name}: not TOML: {refusal}")
        continue
    if best:
        print(f"{name}: {best.json_path}: {best.message[:200]}")
