"""One tool: counts words."""

import ralph


def count(text: str) -> dict:
    """Counts the words of a text"""
    return {"words": len(text.split())}


Tool = ralph.tool({
    count: {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
        "additionalProperties": False,
    },
})
