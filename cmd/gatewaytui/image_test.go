package main

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

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
