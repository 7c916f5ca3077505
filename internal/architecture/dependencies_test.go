package architecture_test

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/testing/check"
)

// reviewed matches a row of docs/dependencies.md.
var reviewed = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (\\S+) \\| [0-9]{4}-[0-9]{2}-[0-9]{2} \\| [^|]+ \\|")

// TestDependenciesAreReviewed compares docs/dependencies.md with the direct dependencies and their versions.
func TestDependenciesAreReviewed(t *testing.T) {
	t.Parallel()
	pinned := map[string]bool{}
	add := func(versions map[string]string) {
		for name, version := range versions {
			pinned[name+" "+version] = true
		}
	}
	add(modules(t, "../..", func(m goMod) []string { return m.direct() }))
	for _, dir := range []string{"../../tools", "../../tools/generators"} {
		add(modules(t, dir, func(m goMod) []string { return m.tools() }))
	}
	for _, dir := range moduleFolders(t) {
		add(modules(t, dir, func(m goMod) []string { return m.direct() }))
	}
	for _, file := range requirementFiles(t) {
		add(requirements(t, strings.TrimSuffix(file, ".txt")+".in"))
	}
	for _, folder := range npmFolders(t) {
		add(npmPackages(t, folder))
	}
	engine := string(read(t, "../../infra/local/dynamodblocal/install.go"))
	name := regexp.MustCompile(`packageName\s+= "(.+)"`).FindStringSubmatch(engine)
	version := regexp.MustCompile(`packageVersion\s+= "(.+)"`).FindStringSubmatch(engine)
	add(map[string]string{name[1]: version[1]})

	plugin := regexp.MustCompile(`<artifactId>(openapi-\S+)</artifactId>\s+<version>(.+)</version>`)
	generator := plugin.FindStringSubmatch(string(read(t, "../../tools/generators/pom.xml")))
	add(map[string]string{generator[1]: generator[2]})

	documented := map[string]bool{}
	for _, row := range reviewed.FindAllStringSubmatch(string(read(t, "../../docs/dependencies.md")), -1) {
		documented[row[1]+" "+row[2]] = true
	}
	check.Same(t, pinned, documented, "the dependencies (-) and docs/dependencies.md (+)")
}

// goMod is a go.mod as the go command prints it.
type goMod struct {
	Require []struct {
		Path, Version string
		Indirect      bool
	}
	Tool []struct{ Path string }
}

// direct lists the direct dependencies, but for the modules of this repository.
func (m goMod) direct() []string {
	var out []string
	for _, r := range m.Require {
		if !r.Indirect && !strings.HasPrefix(r.Path, "github.com/throughline/") {
			out = append(out, r.Path)
		}
	}
	return out
}

// tools lists the modules of the tools.
func (m goMod) tools() []string {
	var out []string
	for _, tool := range m.Tool {
		for _, r := range m.Require {
			if tool.Path == r.Path || strings.HasPrefix(tool.Path, r.Path+"/") {
				out = append(out, r.Path)
			}
		}
	}
	return out
}

// modules returns the versions of some modules of a go.mod.
func modules(t *testing.T, dir string, which func(goMod) []string) map[string]string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json")
	command.Dir = dir
	out := check.Got(command.Output())(t)
	var m goMod
	check.OK(t, json.Unmarshal(out, &m))
	versions := map[string]string{}
	for _, path := range which(m) {
		for _, r := range m.Require {
			if r.Path == path {
				versions[path] = r.Version
			}
		}
	}
	return versions
}

// TestDependenciesArePinned expects a version and a hash for every package of Python and npm. go.sum has the
// hashes of the Go modules, and infra/local/dynamodblocal that of the engine.
func TestDependenciesArePinned(t *testing.T) {
	t.Parallel()
	for _, file := range requirementFiles(t) {
		pinned := requirements(t, file)
		for name, version := range requirements(t, strings.TrimSuffix(file, ".txt")+".in") {
			if pinned[name] != version {
				t.Errorf("%s has %s %q, and %q is required", file, name, pinned[name], version)
			}
		}
		for entry := range strings.SplitSeq(strings.ReplaceAll(string(read(t, file)), "\\\n", " "), "\n") {
			if entry != "" && !strings.HasPrefix(entry, "#") && !strings.Contains(entry, " --hash=sha256:") {
				t.Errorf("%s has no hash of %s", file, entry)
			}
		}
	}
	for _, folder := range npmFolders(t) {
		checkLock(t, folder)
	}
	install := regexp.MustCompile(`pip3? install .*--require-hashes --no-deps |tools/venv .*\$\(PINNED\) `)
	installations := 0
	for _, file := range []string{"Makefile", ".ci/run", ".github/workflows/security.yml"} {
		text := string(read(t, "../../"+file))
		all := len(regexp.MustCompile(`pip3? install|tools/venv `).FindAllString(text, -1))
		if pinned := len(install.FindAllString(text, -1)); all != pinned {
			t.Errorf("%s installs Python packages %d times, and %d times by hash", file, all, pinned)
		}
		installations += all
	}
	if installations == 0 {
		t.Error("no installation of Python packages is found")
	}
	if !strings.Contains(string(read(t, "../../Makefile")), "\nPINNED := --require-hashes --no-deps -r\n") {
		t.Error("PINNED of the Makefile does not ask for hashes")
	}
}

// npmFolders returns the folders with packages of npm.
func npmFolders(t *testing.T) []string {
	folders := []string{"clients/typescript", "infra/console", "tools/mcp", "tools/sdk"}
	for _, file := range frameworkFiles(t, "package.json") {
		folders = append(folders, strings.TrimPrefix(filepath.Dir(file), "../../"))
	}
	return folders
}

// moduleFolders returns the adapters and examples that are Go modules.
func moduleFolders(t *testing.T) []string {
	var folders []string
	for _, file := range frameworkFiles(t, "go.mod") {
		folders = append(folders, filepath.Dir(file))
	}
	return folders
}

// frameworkFiles returns the files of a name in the folders of adapters and examples.
func frameworkFiles(t *testing.T, name string) []string {
	t.Helper()
	var files []string
	for _, folder := range []string{"adapters", "examples"} {
		found := check.Got(filepath.Glob("../../" + folder + "/*/" + name))(t)
		files = append(files, found...)
	}
	return files
}

// npmPackages returns the versions of the packages that a folder names, but for those of this repository.
func npmPackages(t *testing.T, folder string) map[string]string {
	t.Helper()
	var named struct{ Dependencies, DevDependencies map[string]string }
	check.OK(t, json.Unmarshal(read(t, "../../"+folder+"/package.json"), &named))
	versions := map[string]string{}
	maps.Copy(versions, named.Dependencies)
	maps.Copy(versions, named.DevDependencies)
	maps.DeleteFunc(versions, func(_, version string) bool { return strings.HasPrefix(version, "file:") })
	return versions
}

// checkLock expects the lock of a folder to have the versions that it names, and a hash of every package.
func checkLock(t *testing.T, folder string) {
	t.Helper()
	var lock struct {
		Packages map[string]struct {
			Version, Integrity, Resolved string
			Link                         bool
		}
	}
	check.OK(t, json.Unmarshal(read(t, "../../"+folder+"/package-lock.json"), &lock))
	for name, version := range npmPackages(t, folder) {
		if locked := lock.Packages["node_modules/"+name]; locked.Version != version {
			t.Errorf("the lock of %s has %s %q, and %q is required", folder, name, locked.Version, version)
		}
	}
	for name, locked := range lock.Packages {
		own := name == "" || strings.HasPrefix(name, "../") || locked.Link
		if !own && (locked.Integrity == "" || locked.Resolved != "") {
			t.Errorf("the lock of %s has no hash of %s, or the address of a registry", folder, name)
		}
	}
}

func requirementFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../tools/*/requirements.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no requirements: %v", err)
	}
	files = append(files, frameworkFiles(t, "requirements.txt")...)
	return append(files, "../../tools/requirements.txt")
}

// requirements returns the versions in a file of requirements.
func requirements(t *testing.T, file string) map[string]string {
	t.Helper()
	versions := map[string]string{}
	for line := range strings.Lines(string(read(t, file))) {
		if name, version, ok := strings.Cut(strings.TrimSuffix(strings.TrimSpace(line), ` \`), "=="); ok && name[0] != '#' {
			name, _, _ = strings.Cut(name, "[") // the extras of the package
			versions[name] = version
		}
	}
	return versions
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	return check.Got(os.ReadFile(file))(t)
}
