package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// folder is a work folder of a test, and what its workspace reported.
type folder struct {
	*Workspace
	t      *testing.T
	dir    string
	failed []string
}

func newFolder(t *testing.T, files map[string]string) *folder {
	t.Helper()
	f := &folder{t: t, dir: filepath.Join(t.TempDir(), "work")}
	f.Workspace = New(f.dir, func(name string, err error) { f.failed = append(f.failed, name) })
	for name, text := range files {
		f.put(name, text)
	}
	return f
}

func (f *folder) put(name, text string) {
	f.t.Helper()
	at := filepath.Join(f.dir, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

func TestCV15_TheDocumentsAndTheSkillsOfTheFolderAreInThePrompt(t *testing.T) {
	f := newFolder(t, map[string]string{
		"AGENTS.md":              "Use tabs.\n",
		"SOUL.md":                "You are Ada.",
		"skills/pdf/SKILL.md":    "---\nname: pdf\ndescription: \"Reads PDF files.\"\n---\n# Steps\nlong text",
		"deploy/SKILL.md":        "---\nname: deploy\ndescription: >-\n  Brings a release\n  to the servers.\nlicense: MIT\n---\n",
		"skills/plain/SKILL.md":  "no head at all",
		"skills/plain/other.txt": "x",
	})
	const want = `# SOUL.md

You are Ada.

# AGENTS.md

Use tabs.

# Skills

Read the file of a skill before you do what it is for.

- deploy: Brings a release to the servers. (deploy/SKILL.md)
- pdf: Reads PDF files. (skills/pdf/SKILL.md)
- plain (skills/plain/SKILL.md)`
	if got := f.Prompt(true); got != want {
		t.Errorf("the prompt is\n%s\nwant\n%s", got, want)
	}
	if got := f.Prompt(false); strings.Contains(got, "Skills") || !strings.Contains(got, "Ada") {
		t.Errorf("without skills the prompt is\n%s", got)
	}
}

func TestCV15_AChangedFileCountsForTheNextPrompt(t *testing.T) {
	f := newFolder(t, nil)
	if got := f.Prompt(true); got != "" || len(f.failed) > 0 {
		t.Errorf("a folder that is not there yet: %q, %q", got, f.failed)
	}
	f.put("AGENTS.md", "one")
	first := f.Prompt(true)
	f.put("AGENTS.md", "another")
	second := f.Prompt(true)
	if err := os.Remove(filepath.Join(f.dir, "AGENTS.md")); err != nil {
		t.Fatal(err)
	}
	if third := f.Prompt(true); !strings.Contains(first, "one") || !strings.Contains(second, "another") || third != "" {
		t.Errorf("the prompts are %q, %q, %q", first, second, third)
	}
}

// A folder that has been as it is for a while is looked at, and not read; each change in it is seen by the next prompt.
func TestCV15_AFolderWithoutChangesIsNotReadAgain(t *testing.T) {
	aged := func(f *folder) {
		f.t.Helper()
		before := time.Now().Add(-time.Hour)
		if err := filepath.WalkDir(f.dir, func(name string, _ fs.DirEntry, err error) error {
			return errors.Join(err, os.Chtimes(name, before, before))
		}); err != nil {
			f.t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		change func(f *folder)
		want   string
	}{
		"a document is written":    {func(f *folder) { f.put("AGENTS.md", "four") }, "four"},
		"a document comes":         {func(f *folder) { f.put("SOUL.md", "soul") }, "soul"},
		"a document leaves":        {func(f *folder) { _ = os.Remove(filepath.Join(f.dir, "AGENTS.md")) }, ""},
		"a skill comes":            {func(f *folder) { f.put("skills/new/SKILL.md", "x") }, "- new"},
		"a folder becomes a skill": {func(f *folder) { f.put("empty/SKILL.md", "x") }, "- empty"},
		"a skill has another name": {func(f *folder) { f.put("skills/pdf/SKILL.md", "---\nname: other\n---\n") }, "- other"},
		"the folder leaves":        {func(f *folder) { _ = os.RemoveAll(f.dir) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFolder(t, map[string]string{"AGENTS.md": "one", "skills/pdf/SKILL.md": "x", "empty/file": ""})
			aged(f)
			before := f.Prompt(true)
			if text, same := f.unchanged(true); !same || text != before || !strings.Contains(text, "one") {
				t.Fatalf("a second prompt without a change is read again: %q, %v", text, same)
			}
			tc.change(f)
			after := f.Prompt(true)
			if after == before || !strings.Contains(after, tc.want) {
				t.Errorf("after the change the prompt is\n%s", after)
			}
			if _, same := f.unchanged(true); same && name != "the folder leaves" {
				t.Error("a prompt is kept of files that may change again within the same tick of their clock")
			}
		})
	}
}

func TestCV15_ThePromptIsBounded(t *testing.T) {
	f := newFolder(t, map[string]string{"AGENTS.md": strings.Repeat("ü", maxFile)})
	for i := range maxSkills + 10 {
		f.put(fmt.Sprintf("skills/s%03d/SKILL.md", i), "---\nname: "+strings.Repeat("n", 500)+"\ndescription: "+strings.Repeat("d", 5000)+"\n---\n")
	}
	got := f.Prompt(true)
	if n := strings.Count(got, "\n- "); n != maxSkills {
		t.Errorf("it lists %d skills, want %d", n, maxSkills)
	}
	if len(got) > maxFile+200+maxSkills*(maxName+2*maxAbout) || !strings.Contains(got, "[the rest of the file is left out]") || !utf8.ValidString(got) {
		t.Errorf("it has %d bytes", len(got))
	}
}

func TestCV15_NothingOutsideTheFolderIsRead(t *testing.T) {
	f := newFolder(t, map[string]string{"skills/a/other": ""})
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("the secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"AGENTS.md", "skills/a/SKILL.md"} {
		if err := os.Symlink(secret, filepath.Join(f.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(f.dir, "SOUL.md"), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got := f.Prompt(true); got != "" {
			t.Errorf("the prompt is %q", got)
		}
	}
	if want := "[SOUL.md AGENTS.md skills/a/SKILL.md]"; fmt.Sprint(f.failed) != want {
		t.Errorf("reported %q, want each of %s once", f.failed, want)
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(f.dir, "SOUL.md"), later, later); err != nil {
		t.Fatal(err)
	}
	if f.Prompt(true); len(f.failed) != 4 {
		t.Errorf("a file that changed is reported again: %q", f.failed)
	}
}

func FuzzFrontMatter(f *testing.F) {
	for _, seed := range []string{"", "---", "---\nname: a\n---\n", "---\ndescription: |\n  a\n  b\n", "---\n: x\n---", "\ufeff---\r\nname: 'x'\r\n---\r\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		line, err := skill("skills/x/SKILL.md", strings.NewReader(text))
		if err != nil || !strings.HasPrefix(line, "- ") || strings.ContainsAny(line, "\n\x1b") {
			t.Errorf("%q becomes %q, %v", text, line, err)
		}
	})
}
