"""Texts of many languages and kinds, written for these tests, and random ones of them."""
import random

SENTENCES = [
    "The quick brown fox jumps over the lazy dog, doesn't it? They're sure we'll say I'd've gone.",
    "In 1969, Apollo 11 landed on the Moon; 3.14159 is not 22/7, and 1,000,000 is 10^6.",
    "def main(argv: list[str]) -> int:\n\tif not argv:\n\t\treturn 0  # nothing\n    print(f'{argv!r}')\n",
    "Straße, Größe, Übermut: Fünfzig Äpfel kosten 12,50 € im Café am Fluß.",
    "L'été dernier, où étiez-vous ? C'est à Noël qu'on mange des œufs à la coque.",
    "El niño comió piñas y, ¿quién lo diría?, ¡qué sorpresa! Mañana será otro día.",
    "İstanbul'da ılık bir gün; IĞDIR ve ığdır, Şişli'de çay içtik.",
    "Tiếng Việt có nhiều dấu: Nguyễn Thị Thùy Dương học ở Đà Nẵng, rất thích phở bò.",
    "Съешь же ещё этих мягких французских булок, да выпей чаю. Ёлка стоит 300 рублей.",
    "Η γρήγορη καφέ αλεπού πηδάει πάνω από το τεμπέλικο σκυλί. Σίσυφος, ΣΊΣΥΦΟΣ και ὀξυρρύγχος.",
    "صِفْ خَلْقَ خَوْدٍ كَمِثْلِ الشَّمْسِ إِذْ بَزَغَتْ، ومدينة القاهرة فيها ١٢٣ شارعًا؟",
    "דג סקרן שט בים מאוכזב ולפתע מצא חברה. שָׁלוֹם עֲלֵיכֶם!",
    "हिन्दी में लिखा हुआ एक वाक्य: भारत की राजधानी नई दिल्ली है। १२३ किताबें, क्ष और ज्ञ।",
    "বাংলা ভাষায় একটি বাক্য লেখা হলো। தமிழ் மொழி மிகவும் பழமையானது. తెలుగు భాష.",
    "ภาษาไทยไม่มีการเว้นวรรคระหว่างคำ กรุงเทพมหานครเป็นเมืองหลวง ๑๒๓ บาท น้ำใจ",
    "敏捷的棕色狐狸跳过了懒狗。北京是中华人民共和国的首都，人口约2154万。",
    "いろはにほへと ちりぬるを。東京タワーは３３３メートルです。ｶﾀｶﾅ と がぎぐ",
    "다람쥐 헌 쳇바퀴에 타고파. 서울은 대한민국의 수도입니다. 각하",
    "ქართული ენა, Հայերեն լեզու, አማርኛ ቋንቋ, ᏣᎳᎩ, ไทย, ລາວ, မြန်မာ, ភាសាខ្មែរ, བོད་སྐད་.",
    "👨‍👩‍👧‍👦 family, 🏳️‍🌈 flag, 👍🏽 thumbs, 🇩🇪🇫🇷🇯🇵, ❤️‍🔥, 1️⃣, 🧑‍🚀 and 🫠 🪿 🐦‍🔥.",
    "Zalgo: Z̴̢̛a̷͚͝l̶̰̈g̵̨̾ö̷̢ and q̣̇ vs q̣̇, é vs é, Å Å Å, ﬁ ﬂ ﬃ, ① ½ ㎏ ﷺ ㍿ Ⅷ ²³.",
    "tabs\tand  double  spaces   and\u00a0no-break\u2003em\u3000ideographic\u200bzero\u2009thin\r\nlines\n\n\n  end  ",
    "control \u0001\u0002\u0007\u0008\u000b\u000c\u001b[0m\u007f\u0080\u009f\ufeff\ufffd\u200e\u202e\u2060 marks",
    "math: ∀x∈ℝ ∃y: x² + y² ≤ √2·π, 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝟙𝟚𝟛, a⃗, x̄, ∑ᵢ₌₁ⁿ, ℵ₀ ≠ ∅",
    "https://example.com/a?b=c&d=%20#frag user@example.org C:\\path\\file.txt $100.00 #tag @name <b>x</b>",
    "[CLS] [SEP] [MASK] <s> </s> <unk> <pad> <mask> <|endoftext|> [UNK] ▁▁ Ġ <0x0A> ##ing",
    "\u4e00\u9fff\u3400\U00020000\U0002a6df\U00030000\U000e0001\uac00\u1100\u1161\u11a8\u1112\u1175",
    "ǅ ǆ Ǆ ß ẞ ſ K Å ı İ i̇ ŉ ΐ և Ա ა Ა ꭰ Ꭰ",
    "", " ", "  ", "\n", "a", "é", "👍", "\u0301", "\u0000", "...", "'s", "I'M I'll 'S 'ſ", "x" * 150, "ab" * 200,
]

PIECES = [
    " ", "  ", "\n", "\r\n", "\t", "a", "b", "the", "ing", "Z", "0", "42", "1234567", "'", "'s", "'LL", ".", ",", "!?", "-", "_", "▁", "Ġ",
    "é", "e\u0301", "\u0301", "\u0327", "\u0345", "ß", "İ", "ſ", "Ω", "Σ", "ж", "ё", "א", "ש\u05c1", "ع", "لا", "ि", "क", "्", "ष", "ก", "ำ",
    "中", "文", "あ", "が", "か\u3099", "ｶ\uff9e", "한", "\u1100", "\u1161", "\u11a8", "👍", "🏽", "\u200d", "👩", "❤", "\ufe0f", "🇩", "🇪",
    "\u00a0", "\u3000", "\u200b", "\u2028", "\u0085", "\ufeff", "\ufffd", "\u0000", "\u0001", "\u007f", "\u009f", "\u00ad", "\u2581",
    "ﬁ", "½", "①", "²", "٣", "९", "𝟘", "𝔄", "ℵ", "Å", "\U0010ffff", "\ue000", "\u0378", "[MASK]", "<s>", "</s>", "<mask>", "<unk>", "<0x41>",
    "<|endoftext|>", "[CLS]", "NFKC", "\u0344", "\u2126", "\u0f73", "\u1e9b\u0323", "\u00c5", "\ufb1d", "ǆ", "\ua7dc", "\U00016ea0",
]


def random_text(draw, longest=40):
    """One of pieces, characters of all planes, or parts of sentences."""
    kind = draw.random()
    if kind < 0.5:
        return "".join(draw.choice(PIECES) for _ in range(draw.randrange(longest)))
    if kind < 0.7:
        return "".join(random_character(draw) for _ in range(draw.randrange(longest)))
    text = draw.choice(SENTENCES)
    start = draw.randrange(len(text) + 1)
    text = text[start : start + draw.randrange(4 * longest)]
    return text + "".join(draw.choice(PIECES) for _ in range(draw.randrange(6)))


def random_character(draw):
    while True:
        c = draw.choice([draw.randrange(0x80), draw.randrange(0x3000), draw.randrange(0x20000), draw.randrange(0x110000)])
        if not 0xD800 <= c < 0xE000:
            return chr(c)


def random_texts(seed, count):
    draw = random.Random(seed)
    return [random_text(draw) for _ in range(count)]
