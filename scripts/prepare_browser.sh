#!/bin/sh
# What tests of pages need besides Python: a browser, and axe-core in the environment given as the first argument.
# What cannot be had is said, and the tests that need it are skipped and say so too.
environment=$1

has() { command -v "$1" >/dev/null 2>&1; }

if ! has chromium || ! has chromedriver; then
    if [ "$(id -u)" = 0 ] && has apt-get; then
        echo "installing chromium for the tests of pages (about a minute, once)"
        { apt-get install -y -qq chromium chromium-driver || { apt-get update -qq && apt-get install -y -qq chromium chromium-driver; }; } \
            >/dev/null 2>&1 || echo "chromium cannot be installed: tests of pages are skipped"
    else
        echo "no chromium and chromium-driver here: tests of pages are skipped"
    fi
fi

if [ ! -f "$environment/axe-core/axe.min.js" ]; then
    folder=$(mktemp -d)
    if has npm && (cd "$folder" && npm pack --silent axe-core@4 && tar xzf axe-core-*.tgz) >/dev/null 2>&1; then
        mkdir -p "$environment/axe-core" && cp "$folder/package/axe.min.js" "$environment/axe-core/"
    else
        echo "no axe-core by npm: tests of accessibility are skipped"
    fi
    rm -rf "$folder"
fi
exit 0
