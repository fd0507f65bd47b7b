package bot

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/textproto"
	"net/url"
	"path"
	"strconv"
	"strings"

	"gatewaytui/core/adapter"
	"gatewaytui/core/term"
)

// Form is a call with a file as multipart/form-data: the body, and its media type with the boundary. field is the file's, fields
// are the other ones.
func Form(fields url.Values, field string, f adapter.OutgoingFile) (body []byte, kind string, err error) {
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	for name, values := range fields {
		for _, value := range values {
			if err := form.WriteField(name, value); err != nil {
				return nil, "", fmt.Errorf("write the form of a file: %w", err)
			}
		}
	}
	name := FileName(f.Name)
	header := textproto.MIMEHeader{}
	header.Set("Content-Disposition", fmt.Sprintf("form-data; name=%q; filename=%s", field, strconv.Quote(name)))
	header.Set("Content-Type", "application/octet-stream")
	if kind := term.Clean(f.Type, 100); kind != "" {
		header.Set("Content-Type", kind)
	}
	part, err := form.CreatePart(header)
	if err == nil {
		_, err = io.Copy(part, bytes.NewReader(f.Content))
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		return nil, "", fmt.Errorf("write the form of a file: %w", err)
	}
	return b.Bytes(), form.FormDataContentType(), nil
}

// FileName is the name of a file for people: clean, without folders, "file" if there is none.
func FileName(name string) string {
	name = path.Base(path.Clean("/" + strings.ReplaceAll(term.Clean(name, maxFileName), `\`, "/")))
	if name == "/" || name == "." {
		return "file"
	}
	return name
}

// maxFileName bounds the name of a file, in runes.
const maxFileName = 120
