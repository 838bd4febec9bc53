"""As much of JSON Schema as docs/audit.schema.json uses; errors() is empty for what conforms."""
import re

TYPES = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool,
         "null": type(None)}
KNOWN = {"$schema", "$defs", "$ref", "title", "description", "type", "const", "enum", "minimum",
         "maximum", "pattern", "properties", "required", "additionalProperties", "oneOf", "items"}


def is_type(value, names):
    names = [names] if isinstance(names, str) else names
    return any(isinstance(value, TYPES[n]) and not (n == "integer" and isinstance(value, bool))
               for n in names)


def errors(schema, value, root=None, at="$"):
    root = schema if root is None else root
    unknown = set(schema) - KNOWN
    if unknown:
        raise ValueError("the schema uses %s" % unknown)
    if "$ref" in schema:
        kind = schema["$ref"].rsplit("/", 1)[1]
        return errors(root["$defs"][kind], value, root, at)
    if "oneOf" in schema:
        tried = [errors(s, value, root, at) for s in schema["oneOf"]]
        if sum(not t for t in tried) == 1:
            return []
        return ["%s: not exactly one of: %s" % (at, min((t for t in tried if t), key=len))]
    found = []
    if "type" in schema and not is_type(value, schema["type"]):
        return ["%s: %r is no %s" % (at, value, schema["type"])]
    if "const" in schema and value != schema["const"]:
        found.append("%s: %r is not %r" % (at, value, schema["const"]))
    if "enum" in schema and value not in schema["enum"]:
        found.append("%s: %r is none of the words" % (at, value))
    if "minimum" in schema and value < schema["minimum"]:
        found.append("%s: %r is too small" % (at, value))
    if "maximum" in schema and value > schema["maximum"]:
        found.append("%s: %r is too large" % (at, value))
    if "pattern" in schema and not re.search(schema["pattern"], value):
        found.append("%s: %r does not match" % (at, value))
    if isinstance(value, list) and "items" in schema:
        for i, item in enumerate(value):
            found += errors(schema["items"], item, root, "%s[%d]" % (at, i))
    if isinstance(value, dict):
        props = schema.get("properties", {})
        found += ["%s: %s is missing" % (at, k) for k in schema.get("required", ())
                  if k not in value]
        for key, member in value.items():
            if key in props:
                found += errors(props[key], member, root, at + "." + key)
            elif isinstance(schema.get("additionalProperties"), dict):
                found += errors(schema["additionalProperties"], member, root, at + "." + key)
            elif schema.get("additionalProperties", True) is False:
                found.append("%s: %s is unknown" % (at, key))
    return found
