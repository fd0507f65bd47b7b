package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"gatewaytui/fixtures/soak"
)

// OP8: what the image copies is what make release leaves: a static binary that runs, with its checksum.
func TestOP8_MakeReleaseLeavesWhatTheImageCopies(t *testing.T) {
	soak.Long(t)
	image, err := os.ReadFile("../../fixtures/image/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	copies := regexp.MustCompile(`(?m)^COPY .* bin/release/(\S+) \S+$`).FindAllStringSubmatch(string(image), -1)
	if len(copies) != 1 || strings.Count(string(image), "\nCOPY ") != 1 {
		t.Fatalf("the image copies %q, want one file of bin/release", copies)
	}
	name := strings.ReplaceAll(copies[0][1], "${TARGETARCH}", runtime.GOARCH)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	dir := t.TempDir()
	release := exec.CommandContext(ctx, "make", "-C", "../..", "release", "RELEASE="+dir, "TARGETS=linux/"+runtime.GOARCH)
	if out, err := release.CombinedOutput(); err != nil {
		t.Fatalf("make release: %v\n%s", err, out)
	}
	if sums, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS")); err != nil || !strings.HasSuffix(string(sums), "  "+name+"\n") {
		t.Errorf("the checksums are %q, %v; want one of %s", sums, err, name)
	}
	binary := filepath.Join(dir, name)
	if fi, err := os.Stat(binary); err != nil || fi.Mode().Perm()&0o111 == 0 {
		t.Fatalf("the image copies %s: %v, %v", name, fi, err)
	}
	if runtime.GOOS != "linux" {
		return
	}
	if out, err := exec.CommandContext(ctx, binary, "--version").CombinedOutput(); err != nil || !strings.Contains(string(out), "gatewaytui") {
		t.Errorf("--version of it ended with %v: %s", err, out)
	}
}

// OP8: the image definition names a binary that make release builds, and flags, verbs and variables that the program has.
func TestOP8_TheImageFitsTheProgram(t *testing.T) {
	read := func(path string) string {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	image, makefile := read("../../fixtures/image/Dockerfile"), read("../../Makefile")
	// value is what follows the last instruction name of the image.
	value := func(name string) string {
		t.Helper()
		all := regexp.MustCompile(`(?m)^`+name+` (.*)$`).FindAllStringSubmatch(image, -1)
		if len(all) == 0 {
			t.Fatalf("the image has no %s", name)
		}
		return all[len(all)-1][1]
	}
	argv := func(text string) (argv []string) {
		t.Helper()
		if err := json.Unmarshal([]byte(text), &argv); err != nil || len(argv) == 0 {
			t.Fatalf("%q is not a command in exec form, which would put a shell between the engine and the gateway: %v", text, err)
		}
		return argv
	}
	root := newRoot(&program{})

	if entry := argv(value("ENTRYPOINT")); !slices.Equal(entry, []string{root.Name()}) {
		t.Errorf("ENTRYPOINT is %q", entry)
	}
	if args := argv(value("CMD")); root.ParseFlags(args) != nil || !root.Flags().Changed("no-tui") {
		t.Errorf("the program does not run without a terminal with %q", args)
	}
	_, check, _ := strings.Cut(value("HEALTHCHECK"), "CMD ")
	health := argv(check)
	if verb, rest, err := root.Find(health[1:]); health[0] != root.Name() || err != nil || verb == root || len(rest) > 0 {
		t.Errorf("HEALTHCHECK asks %q: %v", health, err)
	}

	targets := regexp.MustCompile(`(?m)^TARGETS *:= (.*)$`).FindStringSubmatch(makefile)
	copied := strings.Fields(value("COPY"))
	for _, arch := range []string{"amd64", "arm64"} {
		from := strings.ReplaceAll(copied[len(copied)-2], "${TARGETARCH}", arch)
		if targets == nil || !slices.Contains(strings.Fields(targets[1]), "linux/"+arch) || from != "bin/release/gatewaytui-linux-"+arch {
			t.Errorf("COPY takes %s, and make release builds %q", from, targets)
		}
	}
	if to := copied[len(copied)-1]; to != "/usr/local/bin/"+root.Name() {
		t.Errorf("the binary is copied to %s", to)
	}
	if home := value("VOLUME"); value("ENV") != "GATEWAYTUI_HOME="+home || !strings.Contains(image, "-m 0700 -o gateway -g gateway "+home) {
		t.Errorf("the home is %q and the volume %q; both must be one private folder of the user", value("ENV"), home)
	}
	if user := value("USER"); !regexp.MustCompile(`^[1-9]\d*:[1-9]\d*$`).MatchString(user) {
		t.Errorf("the image runs as %q: want the numbers of a user that is not root", user)
	}
	if signal := value("STOPSIGNAL"); signal != "SIGTERM" {
		t.Errorf("an engine stops the gateway with %s", signal)
	}
}
