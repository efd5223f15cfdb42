// One tool: counts words.
import * as ralph from "../sdk/js/index.js";

export const tool = ralph.tool({
  count: {
    description: "Counts the words of a text",
    schema: {
      type: "object",
      properties: { text: { type: "string" } },
      required: ["text"],
      additionalProperties: false,
    },
    call: ({ text }) => ({ words: String(text).split(/\s+/).filter((word) => word !== "").length }),
  },
});
