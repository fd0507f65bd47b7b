package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/url"
	"path"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gatewaytui/core/term"
	"gatewaytui/core/tool"
)

const (
	// maxText bounds the text of a result, in bytes. The agent's own limit is usually lower.
	maxText = 1 << 20
	// maxRefusal bounds the message of an error, in bytes.
	maxRefusal = 4 << 10
	// maxFiles bounds the files of a result.
	maxFiles = 20
)

// render is a result as a model reads it. What is not text is saved as a file of the session, and pictures are shown as well to a model that
// sees. An error of the tool is an error.
func (s *Set) render(call tool.Call, server string, result *sdk.CallToolResult) (string, error) {
	r := rendering{set: s, call: call, server: server}
	for _, c := range result.Content {
		r.add(c)
	}
	if r.text.Len() == 0 && result.StructuredContent != nil {
		data, err := json.Marshal(result.StructuredContent)
		if err != nil {
			return "", fmt.Errorf("read the result of the server %s: %w", server, err)
		}
		r.write(string(data))
	}
	text := r.text.String()
	if result.IsError {
		if text == "" {
			text = "the tool failed and gave no reason"
		}
		return "", errors.New(text)
	}
	if text == "" {
		text = "(the tool returned nothing)"
	}
	return text, nil
}

// rendering is a result on its way to a text.
type rendering struct {
	set    *Set
	call   tool.Call
	server string
	text   strings.Builder
	files  int
}

// write adds a paragraph.
func (r *rendering) write(s string) {
	if r.text.Len() > 0 {
		r.text.WriteString("\n")
	}
	left := maxText - r.text.Len()
	if left <= 0 {
		return
	}
	r.text.WriteString(plain(s, left))
}

func (r *rendering) add(c sdk.Content) {
	switch c := c.(type) {
	case *sdk.TextContent:
		r.write(c.Text)
	case *sdk.ImageContent:
		r.file("image", "", c.MIMEType, c.Data)
	case *sdk.AudioContent:
		r.file("audio", "", c.MIMEType, c.Data)
	case *sdk.ResourceLink:
		r.write(fmt.Sprintf("[resource %s: %s]", term.Quote(c.Name), term.Clean(c.URI, maxProblem)))
	case *sdk.EmbeddedResource:
		r.resource(c.Resource)
	default:
		r.write("[content of a kind that is not known]")
	}
}

// resource is a file within a result.
func (r *rendering) resource(c *sdk.ResourceContents) {
	switch {
	case c == nil:
		r.write("[empty resource]")
	case c.Blob != nil:
		r.file("resource", nameIn(c.URI), c.MIMEType, c.Blob)
	default:
		r.write(fmt.Sprintf("[resource %s]\n%s", term.Clean(c.URI, maxProblem), c.Text))
	}
}

// nameIn is the file name in an address.
func nameIn(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	if name := path.Base(u.Path); name != "." && name != "/" {
		return name
	}
	return ""
}

// file saves content as a file of the session, and names it.
func (r *rendering) file(kind, name, typ string, content []byte) {
	typ = term.Clean(typ, 80)
	if name == "" {
		name = kind + extension(typ)
	}
	r.files++
	if r.set.o.Files == nil || r.files > maxFiles {
		r.write(fmt.Sprintf("[%s, %s, %d bytes: not kept]", kind, typ, len(content)))
		return
	}
	at, err := r.set.o.Files.Keep(r.call.Session, r.server+"-"+name, content)
	if err != nil {
		r.write(fmt.Sprintf("[%s, %s, %d bytes: not saved: %s]", kind, typ, len(content), term.Clean(err.Error(), maxProblem)))
		return
	}
	r.write(fmt.Sprintf("[%s saved as %s, %s, %d bytes%s]", kind, at, typ, len(content), r.show(typ, content)))
}

// show shows a picture to a model that sees. Of one that is not shown it says why.
func (r *rendering) show(typ string, content []byte) string {
	if r.call.Show == nil || !strings.HasPrefix(typ, "image/") {
		return ""
	}
	picture, err := r.set.o.Files.Picture(content)
	if err == nil {
		err = r.call.Show(picture)
	}
	if err != nil {
		return "; you do not see it: " + err.Error()
	}
	return "; you see it with this result, and not later"
}

// extensions are the usual ones; the system's table varies.
var extensions = map[string]string{
	"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", "image/svg+xml": ".svg", "audio/wav": ".wav",
	"audio/mpeg": ".mp3", "application/pdf": ".pdf", "application/json": ".json", "text/plain": ".txt", "application/gzip": ".gz", "application/zip": ".zip",
}

// extension is that of files of a media type.
func extension(typ string) string {
	base, _, err := mime.ParseMediaType(typ)
	if err != nil {
		return ".bin"
	}
	if e := extensions[base]; e != "" {
		return e
	}
	return ".bin"
}
