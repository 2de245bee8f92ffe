"""What the parts of OpenAI chat messages hold. A test compares it with the types of its library."""

from turnledger.projections.providers.openai_shapes import BREAK, DETAILS
from turnledger.projections.providers.shapes import Keys, Kinds, one_of, text

CHAT_PARTS = Kinds(
    {
        "text": Keys({"type": text, "text": text, **BREAK}, ("type", "text")),
        "image_url": Keys(
            {"type": text, "image_url": Keys({"url": text, "detail": one_of(*DETAILS)}, ("url",)), **BREAK},
            ("type", "image_url"),
        ),
        "input_audio": Keys(
            {
                "type": text,
                "input_audio": Keys({"data": text, "format": one_of("wav", "mp3")}, ("data", "format")),
                **BREAK,
            },
            ("type", "input_audio"),
        ),
        "file": Keys(
            {"type": text, "file": Keys({"file_data": text, "file_id": text, "filename": text}), **BREAK},
            ("type", "file"),
        ),
        "refusal": Keys({"type": text, "refusal": text}, ("type", "refusal")),
    }
)
