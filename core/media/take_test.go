package media

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dustin/go-humanize"

	"gatewaytui/core/adapter"
)

func size(content []byte) string { return humanize.Comma(int64(len(content))) }

func TestCV9_WhatBecomesOfAFileIsForItsContentToSay(t *testing.T) {
	at := received + "/" + folderOf(chatKey) + "/"
	long := bytes.Repeat([]byte("x"), maxText+1)
	for _, tc := range []struct {
		name    string
		file    adapter.File
		content []byte
		blind   bool
		// text is the whole text for the model, image how the picture begins, kept the name of what was saved.
		text, image, kept string
	}{
		{
			"a photo is seen, and saved for later",
			adapter.File{Name: "cat.jpg", Type: "image/jpeg"},
			jpegFile, false,
			`[Picture "cat.jpg" (image/jpeg, ` + size(jpegFile) + ` bytes), saved as ` + at + `cat.jpg in your work folder. You see it with this message, and not later]`,
			"data:image/jpeg;base64,/9j/", "cat.jpg",
		},
		{
			"without a name it gets one of its type",
			adapter.File{},
			pngFile, false,
			`[Picture without a name (image/png, ` + size(pngFile) + ` bytes), saved as ` + at + `picture.png in your work folder. You see it with this message, and not later]`,
			"data:image/png;base64,", "picture.png",
		},
		{
			"a model without vision learns where it is",
			adapter.File{Name: "cat.gif"},
			gifFile, true,
			`[Picture "cat.gif" (image/gif, ` + size(gifFile) + ` bytes), saved as ` + at + `cat.gif in your work folder. You cannot see it: the model of this conversation has no vision]`,
			"", "cat.gif",
		},
		{
			"a picture that says it is a document",
			adapter.File{Name: "a.pdf", Type: "application/pdf"},
			webpFile, false,
			`[Picture "a.pdf" (image/webp, 25 bytes), saved as ` + at + `a.pdf in your work folder. You see it with this message, and not later]`,
			"data:image/webp;base64,", "a.pdf",
		},
		{
			"the beginning of a picture and nothing more",
			adapter.File{Name: "a.png", Type: "image/png"},
			pngFile[:12], false,
			`[File "a.png" (image/png, 12 bytes), saved as ` + at + `a.png in your work folder]`, "", "a.png",
		},
		{
			"a document that says it is a picture",
			adapter.File{Name: "a.jpg", Type: "image/jpeg"},
			pdfFile, false,
			`[File "a.jpg" (application/pdf, 21 bytes), saved as ` + at + `a.jpg in your work folder]`, "", "a.jpg",
		},
		{
			"a container whose type its sender knows",
			adapter.File{Name: "a.docx", Type: "application/vnd.openxmlformats; x=y"},
			zipFile, false,
			`[File "a.docx" (application/vnd.openxmlformats, 16 bytes), saved as ` + at + `a.docx in your work folder]`, "", "a.docx",
		},
		{
			"a short text is in the message",
			adapter.File{Name: "notes.md", Type: "text/markdown"},
			[]byte("# Notes\n```go\nx\n```\n"), false,
			"[File \"notes.md\" (text/markdown, 20 bytes), its text]\n````\n# Notes\n```go\nx\n```\n````", "", "",
		},
		{
			"a long text is saved",
			adapter.File{Name: "notes.md"},
			long, false,
			`[File "notes.md" (text/plain, 16,385 bytes), saved as ` + at + `notes.md in your work folder]`, "", "notes.md",
		},
		{
			"text with an escape in it is saved",
			adapter.File{Name: "a.txt"},
			[]byte("\x1b[31mred"), false,
			`[File "a.txt" (text/plain, 8 bytes), saved as ` + at + `a.txt in your work folder]`, "", "a.txt",
		},
		{
			"a voice message cannot be heard",
			adapter.File{Spoken: true, Type: "audio/ogg"},
			oggFile, false,
			`[Voice message without a name (audio/ogg, 13 bytes), saved as ` + at + `voice.ogg in your work folder. You cannot hear it: no transcription is configured]`,
			"", "voice.ogg",
		},
		{
			"a name that leads elsewhere stays here",
			adapter.File{Name: "../../.ssh/authorized_keys"},
			pdfFile, false,
			`[File "../../.ssh/authorized_keys" (application/pdf, 21 bytes), saved as ` + at + `authorized_keys in your work folder]`, "", "authorized_keys",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := open(t, gives(map[string][]byte{"": tc.content}))
			got := take(t.Context(), m, "", !tc.blind, tc.file)
			if got.Text != tc.text {
				t.Errorf("the model reads\n%s\nwant\n%s", got.Text, tc.text)
			}
			if (tc.image != "") != (len(got.Images) == 1) || tc.image != "" && !strings.HasPrefix(got.Images[0].URL, tc.image) {
				t.Errorf("it sees %.60v", got.Images)
			}
			want := map[string]string{}
			if tc.kept != "" {
				want[tc.kept] = string(tc.content)
			}
			if kept := saved(t, m); !maps.Equal(kept, want) || len(got.Refused) > 0 {
				t.Errorf("saved are %.60v, refused %q", kept, got.Refused)
			}
		})
	}
}

func TestCV9_WhatIsNotTakenIsSaidAndTheRestIs(t *testing.T) {
	huge := func(context.Context, string, int64) ([]byte, error) { return make([]byte, maxFile+1), nil }
	for _, tc := range []struct {
		name    string
		size    int64
		fetch   func(ctx context.Context, ref string, most int64) ([]byte, error)
		want    string
		fetches int
	}{
		{"a file whose size is known is not even asked for", maxFile + 1, huge, "it is larger than 20 MiB", 0},
		{"a file that is larger than said", 10, huge, "it is larger than 20 MiB", 1},
		{"the platform refuses", 0, func(context.Context, string, int64) ([]byte, error) {
			return nil, &adapter.RefusedError{Why: "the file\nis gone"}
		}, "the file⏎is gone", 1},
		{"the platform hands over no files", 0, func(context.Context, string, int64) ([]byte, error) {
			return nil, fmt.Errorf("fetch: %w", adapter.ErrUnable)
		}, "this platform hands over no files", 1},
		{"it is empty", 0, func(context.Context, string, int64) ([]byte, error) { return nil, nil }, "it is empty", 1},
		{"the platform fails, again and again", 0, func(context.Context, string, int64) ([]byte, error) {
			return nil, errors.New("HTTP 500")
		}, "it could not be fetched: HTTP 500", maxTries},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &platform{fetch: tc.fetch}
				m := open(t, p)
				got := take(t.Context(), m, "look", true, adapter.File{Name: "a", Size: tc.size})
				if want := "look\n\n[File \"a\": not taken, because " + tc.want + "]"; got.Text != want {
					t.Errorf("the model reads\n%s\nwant\n%s", got.Text, want)
				}
				if want := `File "a": ` + tc.want; len(got.Refused) != 1 || got.Refused[0] != want {
					t.Errorf("the user reads %q, want %q", got.Refused, want)
				}
				if len(p.fetched) != tc.fetches {
					t.Errorf("%d fetches, want %d", len(p.fetched), tc.fetches)
				}
			})
		})
	}
}

func TestCV9_OfFiftyFilesTenAreTakenAndTheirBytesAreBounded(t *testing.T) {
	p := gives(map[string][]byte{"": bytes.Repeat([]byte("\x00"), maxFile/2)})
	m := open(t, p)
	got := take(t.Context(), m, "", true, make([]adapter.File, 50)...)
	if len(p.fetched) != 5 {
		t.Errorf("%d files were fetched", len(p.fetched))
	}
	for _, want := range []string{"[40 more files of this message: not taken, because at most 10 are]", "because the files of one message may have 50 MiB together"} {
		if !strings.Contains(got.Text, want) {
			t.Errorf("the text does not say %q:\n%s", want, got.Text)
		}
	}
	if kept := saved(t, m); len(kept) != 1 { // they are the same
		t.Errorf("%d files were saved", len(kept))
	}
}

func TestCV9_PicturesThatAreTooLargeAreSavedAndNotShown(t *testing.T) {
	large := append(bytes.Clone(jpegFile), make([]byte, maxPicture)...)
	middle := append(bytes.Clone(jpegFile), make([]byte, maxPicture-len(jpegFile))...)
	m := open(t, gives(map[string][]byte{"large": large, "middle": middle}))
	got := take(t.Context(), m, "", true, adapter.File{Ref: "large"}, adapter.File{Ref: "middle"}, adapter.File{Ref: "middle"}, adapter.File{Ref: "middle"}, adapter.File{Ref: "middle"})
	if n := strings.Count(got.Text, "too large to be shown"); len(got.Images) != maxShown/len(middle) || n != 2 {
		t.Errorf("%d are shown, %d are too large:\n%s", len(got.Images), n, got.Text)
	}
}

func TestCV9_APlatformThatHangsCostsBoundedTimeAndAnInterruptNone(t *testing.T) {
	hang := func(ctx context.Context, _ string, _ int64) ([]byte, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	synctest.Test(t, func(t *testing.T) {
		m := open(t, &platform{fetch: hang})
		began := time.Now()
		got := take(t.Context(), m, "look", true, make([]adapter.File, 5)...)
		if took := time.Since(began); took != maxWait || strings.Count(got.Text, "did not hand it over in time") != 5 || !strings.HasPrefix(got.Text, "look\n") {
			t.Errorf("after %s the model reads\n%s", took, got.Text)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began = time.Now()
		got = take(ctx, m, "look", true, make([]adapter.File, 2)...)
		if took := time.Since(began); took != time.Second || strings.Count(got.Text, "because the turn was interrupted") != 2 || len(got.Refused) > 0 {
			t.Errorf("after %s the user reads %q, the model\n%s", took, got.Refused, got.Text)
		}
	})
}

func TestCV9_ATurnOfTheNextLifeWaitsForItsPlatform(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		p := &platform{fetch: func(context.Context, string, int64) ([]byte, error) {
			if time.Since(began) < time.Minute {
				return nil, fmt.Errorf("fetch: %w", adapter.ErrNotConnected)
			}
			return jpegFile, nil
		}}
		if got := take(t.Context(), open(t, p), "", true, adapter.File{}); len(got.Images) != 1 {
			t.Errorf("the model reads\n%s", got.Text)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		p := &platform{fetch: func(context.Context, string, int64) ([]byte, error) {
			return nil, &adapter.RateLimitError{RetryAfter: time.Hour}
		}}
		if got := take(t.Context(), open(t, p), "", true, adapter.File{}); len(p.fetched) != 1 || len(got.Refused) != 1 {
			t.Errorf("a limit of an hour: %d fetches, refused %q", len(p.fetched), got.Refused)
		}
	})
}

func TestCV9_FewFilesAreInMemoryAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		p := &platform{fetch: func(context.Context, string, int64) ([]byte, error) {
			<-release
			return jpegFile, nil
		}}
		m := open(t, p)
		done := make(chan Taken)
		const turns = 3 * atOnce
		for range turns {
			go func() { done <- take(t.Context(), m, "", true, adapter.File{}) }()
		}
		synctest.Wait()
		if len(p.fetched) != atOnce {
			t.Errorf("%d are fetched at once, want %d", len(p.fetched), atOnce)
		}
		go m.Take(t.Context(), Message{Session: "other:dm:1", Files: `[{"ref":"1"}]`, Progress: func(string) {}})
		synctest.Wait()
		if p.fetched[len(p.fetched)-1] != "other 1" {
			t.Errorf("another platform waits behind %q", p.fetched)
		}
		close(release)
		for range turns {
			if got := <-done; len(got.Images) != 1 {
				t.Errorf("the model reads\n%s", got.Text)
			}
		}
	})
}

func TestCV9_AReceivedFileReplacesNothingAndFollowsNoLink(t *testing.T) {
	t.Run("another file of that name", func(t *testing.T) {
		m := open(t, gives(map[string][]byte{"1": pdfFile, "2": zipFile}))
		for range 2 { // the second time is the next life's, of the same message
			take(t.Context(), m, "", true, adapter.File{Name: "a.bin", Ref: "1"}, adapter.File{Name: "a.bin", Ref: "2"})
		}
		if got, want := saved(t, m), map[string]string{"a.bin": string(pdfFile), "a-2.bin": string(zipFile)}; !maps.Equal(got, want) {
			t.Errorf("saved are %q", got)
		}
	})
	for _, name := range []string{received, received + "/" + folderOf(chatKey), received + "/" + folderOf(chatKey) + "/a.bin"} {
		t.Run("a link at "+filepath.Base(name), func(t *testing.T) {
			m := open(t, gives(map[string][]byte{"": pdfFile}))
			inside, outside := filepath.Join(m.o.Work, "mine"), t.TempDir()
			for _, target := range []string{inside, outside} {
				at := filepath.Join(m.o.Work, name)
				for _, dir := range []string{filepath.Dir(at), inside} {
					if err := os.MkdirAll(dir, dirMode); err != nil {
						t.Fatal(err)
					}
				}
				_ = os.Remove(at)
				if err := os.Symlink(target, at); err != nil {
					t.Fatal(err)
				}
				got := take(t.Context(), m, "", true, adapter.File{Name: "a.bin"})
				for _, dir := range []string{inside, outside} {
					if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
						t.Errorf("behind the link is %v, %v", entries, err)
					}
				}
				if isFile := strings.HasSuffix(name, "a.bin"); isFile != strings.Contains(got.Text, "saved as") || isFile == strings.Contains(got.Text, "could not be saved: "+filepath.Base(name)+" is not a folder") {
					t.Errorf("the model reads\n%s", got.Text)
				}
			}
		})
	}
	t.Run("the work folder cannot be written", func(t *testing.T) {
		m := open(t, gives(map[string][]byte{"": jpegFile}))
		if err := os.WriteFile(m.o.Work, nil, fileMode); err != nil {
			t.Fatal(err)
		}
		got := take(t.Context(), m, "", true, adapter.File{Name: "a.jpg"})
		if want := `[Picture "a.jpg" (image/jpeg, ` + size(jpegFile) + ` bytes), could not be saved: not a directory. You see it with this message, and not later]`; got.Text != want || len(got.Images) != 1 {
			t.Errorf("the model reads\n%s", got.Text)
		}
		if want := `"a.jpg" could not be saved: not a directory`; len(got.Refused) != 1 || got.Refused[0] != want {
			t.Errorf("the user reads %q", got.Refused)
		}
	})
}

func TestCV9_FilesThatCannotBeReadFromTheInboxAreSaid(t *testing.T) {
	m := open(t, gives(nil))
	got := m.Take(t.Context(), Message{Session: chatKey, Text: "look", Files: "{", Progress: func(string) {}})
	if len(got.Refused) != 1 || !strings.HasPrefix(got.Text, "look\n\n[the files of this message: not taken") {
		t.Errorf("the model reads %q, the user %q", got.Text, got.Refused)
	}
}

func TestCV9_WhatAModelIsShownIsAPictureByItsContent(t *testing.T) {
	m := open(t, gives(nil))
	for _, tc := range []struct {
		name    string
		content []byte
		begins  string // of the address; empty: it is not shown
	}{
		{"a picture of a tool", pngFile, "data:image/png;base64,"},
		{"what only begins like a picture", pngFile[:12], ""},
		{"another file", pdfFile, ""},
		{"a picture that is too large", append(bytes.Clone(jpegFile), make([]byte, maxPicture)...), ""},
	} {
		got, err := m.Picture(tc.content)
		if (err == nil) != (tc.begins != "") || !strings.HasPrefix(got.URL, tc.begins) {
			t.Errorf("%s: %.40q, %v", tc.name, got.URL, err)
		}
	}
}
