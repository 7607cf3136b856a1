"""Make the pictures of the documentation: pages as `ordern view --save` writes them, photographed by Chromium.

    python examples/gallery.py [folder] [names ...]

Needs Chromium, and the extras `view` and `test`. Without names, all pictures are made; the folder is docs/images.
"""

import io
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import ordern as on  # noqa: E402
from tests.robots import ROBOTS  # noqa: E402
from tests.view.chromium import page  # noqa: E402

BARE = """
  #ordern, .mantine-Notifications-root { display: none !important }
"""


def real(path, floating=False):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return on.load(ROBOTS / path, floating=floating)


def fall(robot, q0, until):
    """Let go of a robot at rest."""
    return robot.simulate(q0, np.zeros(robot.nv), until=until)


def puma():
    robot = on.load("puma560")
    return robot, None, [0.4, 0.9, -0.4, 0.3, 0.6, 0.0]


def panda():
    return real("panda_description/urdf/panda.urdf"), None, [0.3, 0.1, 0.0, -1.9, 0.0, 2.0, 0.8, 0.03]


def talos():
    robot = real("talos_data/robots/talos_reduced.urdf", floating=True)
    return robot, None, None


STILLS = {"puma560": puma, "panda": panda, "talos": talos}


def opened(browser, folder, robot, motion, q, style=BARE):
    """A saved page, when it has come to rest."""
    file = Path(folder) / "page.html"
    robot.view(q, motion=motion, save=file)
    browser.open(file.as_uri())
    browser.until("!!window.__viserMutable && Object.keys(window.__viserMutable.nodePoseData).length > 3", 60)
    browser.run(f"document.head.appendChild(document.createElement('style')).textContent = {style!r}")
    time.sleep(1.5)
    browser.still(60)


def written(image, target, colours=255):
    image.convert("RGB").quantize(colours, dither=Image.Dither.NONE).save(target, optimize=True)
    print(f"{target}: {target.stat().st_size / 1000:.0f} kB")


def still(name, target, folder):
    with page(720, 540) as browser:
        opened(browser, folder, *STILLS[name]())
        written(Image.open(io.BytesIO(browser.png())), target)


def whole(target, folder):
    """All of a page, with its panel, in the middle of a motion."""
    robot = on.load("puma560")
    with page(1180, 720) as browser:
        motion = fall(robot, [0.3, 1.2, -0.9, 0.2, 0.4, 0.0], 2.0)
        opened(browser, folder, robot, motion, None, ".mantine-Notifications-root { display: none !important }")
        pause(browser)
        show(browser, "joint forces")
        seek(browser, 0.3)
        browser.still(60)
        written(Image.open(io.BytesIO(browser.png())), target)


def pause(browser):
    browser.run("document.querySelector('.tabler-icon-player-pause-filled')?.closest('button').click()")


def show(browser, name):
    browser.run(f"document.querySelector('input[data-show=\"{name}\"]').click()")


def seek(browser, share):
    """Click on the player's bar at a share of the motion, and wait until that is drawn."""
    track = "[...document.querySelectorAll('.mantine-Slider-track')].at(-1).getBoundingClientRect()"
    x, y, width = browser.run(f"(() => {{ const r = {track}; return [r.left, r.top + r.height / 2, r.width] }})()")
    browser.click(x + width * share, y)
    time.sleep(0.1)
    browser.until("window.__viserMutable.messageQueue.length === 0")
    browser.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")


def animation(target, folder, frames=64):
    """A double pendulum, let go."""
    robot = on.load("double-pendulum")
    motion = fall(robot, [2.0, 0.6], 5.0)
    with page(420, 420) as browser:
        opened(browser, folder, robot, motion, None)
        pause(browser)
        pictures = []
        for k in range(frames):
            seek(browser, (k + 0.5) / frames)
            picture = Image.open(io.BytesIO(browser.png())).convert("RGB")
            pictures.append(picture.crop((0, 0, 420, 380)))  # without the player's bar
    duration = round(1000 * motion.duration / frames)
    pictures[0].save(target, save_all=True, append_images=pictures[1:], duration=duration, loop=0, quality=60, method=6)
    print(f"{target}: {target.stat().st_size / 1000:.0f} kB")


def main(folder="docs/images", *names):
    out = ROOT / folder
    out.mkdir(parents=True, exist_ok=True)
    makers = {f"view-{name}.png": lambda t, f, name=name: still(name, t, f) for name in STILLS}
    makers |= {"view-page.png": whole, "view-pendulum.webp": animation}
    for file, maker in makers.items():
        if not names or any(name in file for name in names):
            with tempfile.TemporaryDirectory() as scratch:
                maker(out / file, scratch)


if __name__ == "__main__":
    main(*sys.argv[1:])
