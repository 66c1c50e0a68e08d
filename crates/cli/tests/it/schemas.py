"""Validates JSON values by their schemas, which must name every key; prints what is wrong."""

import json
import sys

import jsonschema


def closed(schema):
    """The schema with every object that has properties closed to others."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: closed(part) for key, part in schema.items()}
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        inner.setdefault("additionalProperties", False)
    return inner


for case in json.load(sys.stdin):
    schema = closed(case["schema"])
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    best = jsonschema.exceptions.best_match(validator.iter_errors(case["value"]))
    if best:
        print(f"{case['name']}: {best.json_path}: {best.message[:200]}")
