package core

import (
	"go/ast"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A code names a promise: S5, E12, TF8, HF30. C0 and C1 also name the control characters of ISO 6429.
var (
	code       = regexp.MustCompile(`\b(?:S(?:[1-9]|1[0-9]|20)|[A-K](?:[1-9]|1[0-9]|2[0-9])|(?:TF|HF|HB|CV|TR|HR|PL|OP)[1-9][0-9]?)\b`)
	controls   = regexp.MustCompile(`\bC[01](?: and C1)? (?:control|controls|byte|characters?|in UTF-8)\b`)
	testName   = regexp.MustCompile(`^(?:Test|Fuzz|Benchmark)((?:[A-Z]+[0-9]+_)+)`)
	inCaption  = regexp.MustCompile(`^[A-Z]+[0-9]+(?:, [A-Z]+[0-9]+)*: `)
	promiseRow = regexp.MustCompile(`(?m)^\| ([A-Z]+[0-9]+) \|(.*)\|$`)
)

// citations returns where each code is cited: in a comment, in the name of a test, or in front of a string of a test
// ("E9: another poller is a conflict").
func citations(s source) map[string][]string {
	found := map[string][]string{}
	cite := func(n ast.Node, text string) {
		for _, c := range code.FindAllString(text, -1) {
			found[c] = append(found[c], s.at(n))
		}
	}
	for _, group := range s.file.Comments {
		for _, c := range group.List {
			cite(c, controls.ReplaceAllString(c.Text, ""))
		}
	}
	if !s.isTest() {
		return found
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if m := testName.FindStringSubmatch(n.Name.Name); m != nil {
				cite(n, strings.ReplaceAll(m[1], "_", " "))
			}
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil {
				cite(n, inCaption.FindString(text))
			}
		}
		return true
	})
	return found
}

// promises returns the rows of PROMISES.md by their code.
func promises(t *testing.T) map[string]string {
	t.Helper()
	rows := map[string]string{}
	for _, m := range promiseRow.FindAllStringSubmatch(page(t, "core/PROMISES.md"), -1) {
		if rows[m[1]] != "" {
			t.Errorf("PROMISES.md has two rows for %s", m[1])
		}
		rows[m[1]] = m[2]
	}
	return rows
}

func TestEveryCodeThatIsCitedIsAPromiseAndEveryPromiseHasATest(t *testing.T) {
	rows := promises(t)
	inTests := map[string]bool{}
	for _, s := range sources(t) {
		for c, where := range citations(s) {
			inTests[c] = inTests[c] || s.isTest()
			if rows[c] == "" {
				t.Errorf("%s cites %s, which has no row in core/PROMISES.md", where[0], c)
			}
		}
	}
	err := eachFile(func(path string) error {
		if !strings.HasSuffix(path, ".txtar") {
			return nil
		}
		for _, line := range strings.Split(page(t, path), "\n") {
			if !strings.HasPrefix(line, "#") {
				continue
			}
			for _, c := range code.FindAllString(line, -1) {
				inTests[c] = true
				if rows[c] == "" {
					t.Errorf("%s cites %s, which has no row in core/PROMISES.md", path, c)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	exists := declaredTests(t)
	for _, c := range slices.Sorted(maps.Keys(rows)) {
		named := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`").FindAllStringSubmatch(rows[c], -1)
		for _, m := range named {
			if !exists[m[1]] {
				t.Errorf("PROMISES.md says that %s holds %s, which does not exist", m[1], c)
			}
		}
		if len(named) == 0 && !inTests[c] {
			t.Errorf("no test cites %s of PROMISES.md: give the test that holds it the code, or name it in the row", c)
		}
	}
}
