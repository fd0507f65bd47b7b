package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/bound"
	"gatewaytui/core/fence"
	"gatewaytui/core/files"
	"gatewaytui/core/model"
	"gatewaytui/core/term"
)

// fileTool is one tool of the group files. A is its arguments.
type fileTool[A any] struct {
	name, about, schema string
	opts                Options
	// path is the path in the arguments, and do does the call, whose result may be as long as Options.OutputLimit.
	path func(A) string
	do   func(context.Context, *files.Folder, A, int) (string, error)
	// writes says what a call writes, for a person, and at is the call for another name; nil: the tool writes nothing.
	writes func(A) string
	at     func(a A, name string) A
}

// NewFiles returns the tools of the group files (TR9).
func NewFiles(opts Options) []Tool {
	return []Tool{
		fileTool[readArguments]{
			"files_read", "Read a text file of the work folder. Each line of content is its number, a tab and its text; the rest of a long file is " +
				"read with from. Of a binary file you get its type and size.",
			`"required":["path"],"properties":{
			"path":{"type":"string","description":"from the work folder, such as src/main.go"},
			"from":{"type":"integer","description":"number of the first line; 1 without it"},
			"lines":{"type":"integer","description":"how many lines; as many as fit without it"}}`,
			opts, func(a readArguments) string { return a.Path }, readFile, nil, nil,
		},
		fileTool[writeArguments]{
			"files_write", "Write a whole file of the work folder: a new one, or in place of the old one. Folders on the way are made. Change a part of a " +
				"file with files_edit.",
			`"required":["path","content"],"properties":{
			"path":{"type":"string","description":"from the work folder"},
			"content":{"type":"string","description":"the whole file"}}`,
			opts, func(a writeArguments) string { return a.Path }, writeFile,
			func(a writeArguments) string { return written(a.Content) }, func(a writeArguments, name string) writeArguments { a.Path = name; return a },
		},
		fileTool[editArguments]{
			"files_edit", "Replace an exact text in a file of the work folder. It must occur once, unless all is true. The rest of the file, the ends of " +
				"its lines and its mode stay. If another program changes the file meanwhile, nothing is changed.",
			`"required":["path","old","new"],"properties":{
			"path":{"type":"string","description":"from the work folder"},
			"old":{"type":"string","description":"the text as it is in the file, without line numbers"},
			"new":{"type":"string","description":"what is to be there instead"},
			"all":{"type":"boolean","description":"replace it wherever it occurs"}}`,
			opts, func(a editArguments) string { return a.Path }, editFile,
			func(a editArguments) string { return "- " + a.Old + "\n+ " + written(a.New) }, func(a editArguments, name string) editArguments { a.Path = name; return a },
		},
		fileTool[listArguments]{
			"files_list", "List a folder of the work folder by name, with types and sizes. It does not go into .git, nor through symbolic links.",
			`"properties":{
			"path":{"type":"string","description":"the folder; the work folder without it"},
			"depth":{"type":"integer","description":"how many folders deep, from 1, which it is without it, to ` + strconv.Itoa(files.MaxFolders) + `"},
			"glob":{"type":"string","description":"only paths like this, such as *.go or src/**/*.{js,ts}"}}`,
			opts, func(a listArguments) string { return cmp.Or(a.Path, ".") }, listFiles, nil, nil,
		},
		fileTool[searchArguments]{
			"files_search", "Find lines in the text files of the work folder by a regular expression (RE2). It leaves out .git, binary files and what " +
				"symbolic links lead to.",
			`"required":["pattern"],"properties":{
			"pattern":{"type":"string","description":"the regular expression, for one line"},
			"path":{"type":"string","description":"the folder or file; the work folder without it"},
			"glob":{"type":"string","description":"only paths like this, such as *.go or src/**/*.{js,ts}"},
			"ignore_case":{"type":"boolean"},
			"limit":{"type":"integer","description":"the most lines; ` + strconv.Itoa(matches) + ` without it, at most ` + strconv.Itoa(files.MaxMatches) + `"}}`,
			opts, func(a searchArguments) string { return cmp.Or(a.Path, ".") }, searchFiles, nil, nil,
		},
	}
}

// Spec implements Tool.
func (t fileTool[A]) Spec() model.ToolSpec {
	return model.ToolSpec{
		Name: t.name, Description: t.about,
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,` + t.schema + `}`),
	}
}

// Run implements Tool. A call that is interrupted, or at its limit, has settle to end the step that it is at. It is abandoned on a
// disk that hangs then.
func (t fileTool[A]) Run(ctx context.Context, call Call) (string, error) {
	var args A
	if err := decode(call.Arguments, &args); err != nil {
		return "", err
	}
	path := t.path(args)
	if path == "" {
		return "", required("path")
	}
	call.Progress(t.name + ": " + term.Clean(path, goalWidth))
	folder, args, err := t.passed(ctx, call, args)
	if err != nil {
		return "", err
	}
	limited, stop := context.WithTimeout(ctx, t.opts.Timeout)
	defer stop()
	patient, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	defer context.AfterFunc(limited, func() { time.AfterFunc(settle, abandon) })()
	text, abandoned, err := bound.Call(patient, 0, func(context.Context) (string, error) {
		return t.do(limited, folder, args, t.opts.OutputLimit)
	}, nil)
	switch {
	case err == nil:
		return text, nil
	case abandoned:
		err = fmt.Errorf("the disk does not answer within %v; it may or may not have taken effect", t.opts.Timeout)
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("it is not done within %v; ask for less at once", t.opts.Timeout)
	}
	return "", fmt.Errorf("%s %s: %w", t.name, term.Quote(path), err)
}

// passed is the folder of a call and the call in it. For a write outside of the work folder it asks the gate first, and what is written
// is at the path that was asked for.
func (t fileTool[A]) passed(ctx context.Context, call Call, args A) (*files.Folder, A, error) {
	if t.writes == nil || t.opts.Gate == nil {
		return t.opts.Folder, args, nil
	}
	folder, dir, base, outside := t.opts.Folder.Outside(t.path(args))
	if !outside {
		return t.opts.Folder, args, nil
	}
	step := Step{
		Kind: StepWrite, Text: filepath.Join(dir, base) + "\n" + t.writes(args), Folder: dir,
		Judgement: fence.Judgement{Verdict: fence.Ask, Reasons: []string{"it is outside of the work folder"}},
	}
	if err := t.opts.pass(ctx, call, step); err != nil {
		return nil, args, err
	}
	return folder, t.at(args, base), nil
}

// written is a text that a call may lack.
func written(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// settle is how long an interrupted call may take to end.
const settle = 500 * time.Millisecond

const (
	// matches is how many lines a search finds without a limit.
	matches = 100
	// widest is how much of a line is read, in bytes.
	widest = 2 << 10
)

// atLeast is the value of an optional number, which is not under 1.
func atLeast(name string, value *int, without int) (int, error) {
	if value == nil {
		return without, nil
	}
	if *value < 1 {
		return 0, fmt.Errorf("argument %q must be at least 1", name)
	}
	return *value, nil
}

type readArguments struct {
	Path  string `json:"path"`
	From  *int   `json:"from"`
	Lines *int   `json:"lines"`
}

func readFile(ctx context.Context, folder *files.Folder, args readArguments, limit int) (string, error) {
	first, wrong := atLeast("from", args.From, 1)
	count, wrong2 := atLeast("lines", args.Lines, limit)
	if err := cmp.Or(wrong, wrong2); err != nil {
		return "", err
	}
	text, err := folder.Read(ctx, args.Path, files.Part{First: first, Count: count, Bytes: limit, Width: min(widest, max(limit, minLimit)/16)})
	if err != nil {
		return "", err
	}
	return fitMost(limit, len(text.Content), func(n int) string {
		var b strings.Builder
		for i, line := range text.Content[:n] {
			if i > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(strconv.Itoa(first+i) + "\t" + line)
		}
		answer := struct {
			files.Text
			Content   string `json:"content"`
			Truncated bool   `json:"truncated"`
			Note      string `json:"note,omitempty"`
		}{Text: text, Content: b.String()}
		last := first + n - 1
		switch {
		case text.Binary != "":
			answer.Note = "it is not text and is not shown"
		case last < text.Lines:
			answer.Truncated, answer.Note = true, fmt.Sprintf("the next line is %d", last+1)
		case text.Cut:
			answer.Truncated, answer.Note = true, "the file is longer than what can be read of it; use the terminal for the rest"
		}
		return encode(answer)
	}), nil
}

type writeArguments struct {
	Path    string  `json:"path"`
	Content *string `json:"content"`
}

func writeFile(ctx context.Context, folder *files.Folder, args writeArguments, _ int) (string, error) {
	if args.Content == nil {
		return "", required("content")
	}
	written, err := folder.Write(ctx, args.Path, *args.Content)
	if err != nil {
		return "", err
	}
	return encode(written), nil
}

type editArguments struct {
	Path string  `json:"path"`
	Old  string  `json:"old"`
	New  *string `json:"new"`
	All  bool    `json:"all"`
}

func editFile(ctx context.Context, folder *files.Folder, args editArguments, _ int) (string, error) {
	switch {
	case args.Old == "":
		return "", errors.New(`argument "old" is required; write a new or empty file with files_write`)
	case args.New == nil:
		return "", errors.New(`argument "new" is required; an empty text removes the old one`)
	}
	edited, err := folder.Edit(ctx, args.Path, args.Old, *args.New, args.All)
	if err != nil {
		return "", err
	}
	return encode(edited), nil
}

type listArguments struct {
	Path  string `json:"path"`
	Depth *int   `json:"depth"`
	Glob  string `json:"glob"`
}

func listFiles(ctx context.Context, folder *files.Folder, args listArguments, limit int) (string, error) {
	depth, err := atLeast("depth", args.Depth, 1)
	if err != nil {
		return "", err
	}
	if depth > files.MaxFolders {
		return "", fmt.Errorf("argument %q must be at most %d", "depth", files.MaxFolders)
	}
	list, err := folder.List(ctx, cmp.Or(args.Path, "."), depth, args.Glob)
	if err != nil {
		return "", err
	}
	return fitMost(limit, len(list.Entries), func(n int) string {
		answer := struct {
			files.Listing
			Truncated bool   `json:"truncated"`
			Note      string `json:"note,omitempty"`
		}{Listing: list}
		answer.Entries = list.Entries[:n]
		answer.More += len(list.Entries) - n
		if answer.Truncated = answer.More > 0 || list.Part; answer.Truncated {
			answer.Note = "list a folder below it, or name what you look for with glob"
		}
		if list.Part {
			answer.Note = "there are more than were counted; " + answer.Note
		}
		return encode(answer)
	}), nil
}

type searchArguments struct {
	Pattern    string `json:"pattern"`
	Path       string `json:"path"`
	Glob       string `json:"glob"`
	IgnoreCase bool   `json:"ignore_case"`
	Limit      *int   `json:"limit"`
}

func searchFiles(ctx context.Context, folder *files.Folder, args searchArguments, limit int) (string, error) {
	if args.Pattern == "" {
		return "", required("pattern")
	}
	most, err := atLeast("limit", args.Limit, matches)
	if err != nil {
		return "", err
	}
	found, err := folder.Search(ctx, files.Query{
		Pattern: args.Pattern, Path: cmp.Or(args.Path, "."), Glob: args.Glob, IgnoreCase: args.IgnoreCase, Limit: most,
	})
	if err != nil {
		return "", err
	}
	return fitMost(limit, len(found.Matches), func(n int) string {
		answer := struct {
			files.Found
			Note string `json:"note,omitempty"`
		}{Found: found}
		answer.Matches = found.Matches[:n]
		if answer.More = found.More || n < len(found.Matches); answer.More {
			answer.Note = "there may be more; search for less, or in fewer files"
		}
		return encode(answer)
	}), nil
}
