"""Writes the image files of this folder and, to cases.txt and cases.bin, what Pillow makes of them. It needs Pillow and
NumPy.

A line of cases.txt is FILE RESIZE CROP CHANNELS HEIGHT WIDTH; cases.bin holds the planar bytes of one case after the
other. Sizes follow torchvision's Resize and CenterCrop.
"""

import os

import numpy as np
from PIL import Image, ImageOps

here = os.path.dirname(os.path.abspath(__file__))
rng = np.random.default_rng(5)


def photo(height, width):
    """Smooth shading, edges and some noise, so that chroma, antialiasing and rounding all show."""
    y, x = np.mgrid[:height, :width]
    image = np.stack(
        [
            127 + 100 * np.sin(x / 5.0 + y / 11.0),
            255.0 * ((x // 7 + y // 5) % 2),
            255.0 * y / height + rng.normal(0, 12, (height, width)),
        ],
        axis=-1,
    )
    return Image.fromarray(image.clip(0, 255).astype(np.uint8))


def save(image, name, **settings):
    image.save(os.path.join(here, name), **settings)


def with_orientation(value):
    exif = Image.Exif()
    exif[0x0112] = value
    return exif


colour, tall = photo(41, 58), photo(67, 33)
save(colour, "colour.jpg", quality=90)
save(tall, "tall.jpg", quality=80, progressive=True, subsampling=0)
save(colour.convert("L"), "grey.jpg", quality=85)
save(photo(20, 24).convert("CMYK"), "cmyk.jpg", quality=90)
save(photo(31, 27), "plain.png")
save(photo(31, 27).convert("L"), "grey.png")
for value in range(1, 9):
    save(photo(12, 20), f"turned{value}.jpg", quality=90, exif=with_orientation(value))
save(photo(10, 16), "turned6.png", exif=with_orientation(6))
save(photo(10, 16), "turned8.webp", lossless=True, exif=with_orientation(8))
save(photo(33, 45), "lossy.webp", quality=80)
alpha = photo(14, 18).convert("RGBA")
alpha.putalpha(Image.fromarray(rng.integers(0, 256, (14, 18), np.uint8)))
save(alpha, "alpha.webp", lossless=True, exact=True)


def resized(image, resize):
    if not resize:
        return image
    if len(resize) == 2:
        return image.resize((resize[1], resize[0]), Image.BILINEAR)
    width, height = image.size
    n, short, long = resize[0], min(width, height), max(width, height)
    new = n, int(n * long / short)
    return image.resize(new if width <= height else new[::-1], Image.BILINEAR)


def cropped(image, crop):
    if not crop:
        return image
    height, width = crop * 2 if len(crop) == 1 else crop
    top, left = int(round((image.size[1] - height) / 2.0)), int(round((image.size[0] - width) / 2.0))
    return image.crop((left, top, left + width, top + height))


def wanted(name, resize, crop, channels):
    image = ImageOps.exif_transpose(Image.open(os.path.join(here, name)))
    if image.mode == "RGBA":  # laid on black
        values = np.asarray(image).astype(int)
        image = Image.fromarray(((values[..., :3] * values[..., 3:] + 127) // 255).astype(np.uint8))
    image = resized(image.convert("L" if channels == 1 else "RGB"), resize)
    if not crop and len(resize) == 1:
        crop = resize
    pixels = np.asarray(cropped(image, crop))
    return pixels[None] if channels == 1 else pixels.transpose(2, 0, 1)


def text(size):
    return "x".join(map(str, size)) or "0"


cases = []
for name in ("colour.jpg", "tall.jpg", "grey.jpg", "plain.png", "grey.png", "lossy.webp"):
    for channels in (1, 3):
        # down and up, one way alone, both ways differently, odd sides, and with a crop
        for resize, crop in (
            ((), ()),
            ((16,), ()),
            ((75,), ()),
            ((13, 29), ()),
            ((90, 20), ()),
            ((28,), (21,)),
            ((40,), (40, 33)),
            ((), (19, 15)),
        ):
            if channels == 3 and resize != (16,) and name not in ("colour.jpg", "lossy.webp"):
                continue  # keeps the file small
            cases.append((name, resize, crop, channels))
for name in ("cmyk.jpg", "turned6.png", "turned8.webp", "alpha.webp", *(f"turned{v}.jpg" for v in range(1, 9))):
    cases.append((name, (), (), 3))
cases.append(("turned6.jpg", (9, 7), (), 1))
with open(os.path.join(here, "cases.txt"), "w") as lines, open(os.path.join(here, "cases.bin"), "wb") as blob:
    for name, resize, crop, channels in cases:
        pixels = wanted(name, resize, crop, channels)
        print(name, text(resize), text(crop), channels, *pixels.shape[1:], file=lines)
        blob.write(np.ascontiguousarray(pixels).tobytes())
