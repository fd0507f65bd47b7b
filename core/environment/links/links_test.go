package links

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTR6_NoPathLeadsThroughALinkThatCommandsCanChange(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, folder := range []string{"work/deep", "elsewhere/inner", "owner"} {
		if err := os.MkdirAll(at(folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"work/link": "elsewhere", "work/deep/link": "elsewhere", "owner/link": "elsewhere", "towork": "work", "work/gone": "nothing"} {
		if err := os.Symlink(at(target), at(link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ name, path, writable, link string }{
		{"a link in a writable folder", "work/link", "work", "work/link"},
		{"a path behind such a link", "work/link/inner", "work", "work/link"},
		{"a link far below a writable folder", "work/deep/link", "work", "work/deep/link"},
		{"a link that is reached by another one", "towork/link", "work", "towork/link"},
		{"a writable folder that is named by a link", "work/link", "towork", "work/link"},
		{"a link that leads to nothing yet", "work/gone", "work", "work/gone"},
		{"a link of the owner's", "owner/link", "work", ""},
		{"the writable folder by a link of the owner's", "towork", "work", ""},
		{"a folder in a writable one", "work/deep", "work", ""},
		{"a folder that only begins alike", "owner/link", "own", ""},
		{"what does not exist", "work/none", "work", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := Check([]string{at("elsewhere"), at(tt.path)}, []string{at(tt.writable)})
			switch {
			case tt.link == "" && err != nil:
				t.Error(err)
			case tt.link != "" && (err == nil || !strings.Contains(err.Error(), "the symbolic link "+at(tt.link)+";")):
				t.Errorf("%v, want the link %s", err, tt.link)
			}
		})
	}
}
