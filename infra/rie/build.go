package rie

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/throughline/throughline/infra/launch"
)

// Find returns the path of the emulator for this machine's processor, inside the SAM CLI's wheel. It installs the SAM
// CLI with "make venv" if it is not installed.
func Find(ctx context.Context) (string, error) {
	root, err := launch.ModuleRoot(ctx)
	if err != nil {
		return "", err
	}
	name, ok := map[string]string{"amd64": "aws-lambda-rie-x86_64", "arm64": "aws-lambda-rie-arm64"}[runtime.GOARCH]
	if !ok || runtime.GOOS != "linux" {
		return "", fmt.Errorf("find emulator: there is none for %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	install := exec.CommandContext(ctx, "make", "--no-print-directory", "venv")
	install.Dir = root
	if out, err := install.CombinedOutput(); err != nil {
		return "", fmt.Errorf("install the SAM CLI: %w\n%s", err, out)
	}
	found, err := filepath.Glob(filepath.Join(root, ".cache/venv/lib/python3*/site-packages/samcli/local/rapid", name))
	if err != nil || len(found) != 1 {
		return "", errors.Join(fmt.Errorf("find emulator: the SAM CLI has %d of %s", len(found), name), err)
	}
	return executable(found[0])
}

// executable makes the file executable, which installing from a wheel may not do.
func executable(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("find emulator: %w", err)
	}
	const run fs.FileMode = 0o111
	if info.Mode()&run == 0 {
		if err := os.Chmod(path, info.Mode()|run); err != nil {
			return "", fmt.Errorf("make emulator executable: %w", err)
		}
	}
	return path, nil
}

// Build builds main packages of this module, such as "./functions/prompt", as they are built for Lambda but for this
// machine's processor. It returns the path of each package's binary, in order. With the flags of launch.BuildEnv,
// the packages are compiled once for both.
func Build(ctx context.Context, folder string, packages ...string) ([]string, error) {
	root, err := launch.ModuleRoot(ctx)
	if err != nil {
		return nil, err
	}
	// One command loads the packages once. It gives each binary the name of its package.
	arguments := append([]string{"build", "-tags=lambda.norpc", "-ldflags=-s", "-o", folder + "/"}, packages...)
	build := exec.CommandContext(ctx, "go", arguments...)
	build.Dir, build.Env = root, launch.BuildEnv()
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build %v: %w\n%s", packages, err, out)
	}
	binaries := make([]string, len(packages))
	for i, pkg := range packages {
		binaries[i] = filepath.Join(folder, filepath.Base(pkg))
	}
	return binaries, nil
}
