package web

import (
	"net/url"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

var base = &url.URL{Scheme: "https", Host: "example.com", Path: "/dir/page"}

func TestHR3_HTMLIsReadAsAPersonReadsIt(t *testing.T) {
	long := strings.Repeat("words of the page ", 15)
	for _, tt := range []struct{ name, in, want string }{
		{"blanks are one", "<p>a \n\t b&nbsp; c</p>", "a b c"},
		{"paragraphs have an empty line between them", "<p>a<p>b", "a\n\nb"},
		{"a line break", "a<br>b<br/>c", "a\nb\nc"},
		{"headings", "<h1>a</h1><h3>b</h3>c", "# a\n\n### b\n\nc"},
		{"lists in lists", "<ul><li>a<ol><li>b</li><li>c</ol><li>d</ul>e", "- a\n  1. b\n  2. c\n- d\n\ne"},
		{"a list that begins later", "<ol start=7><li>a<li>b</ol>", "7. a\n8. b"},
		{"a table", "<table><tr><th>a<th>b<tr><td>c</td><td>d</td></tr></table>", "a | b\nc | d"},
		{"code in a line and in a block", "use <code>go test</code><pre>a\n  b\tc</pre>end", "use `go test`\n\n```\na\n  b\tc\n```\n\nend"},
		{"a link", "see <a href='x?a=1'>the  page</a> now", "see [the page](https://example.com/dir/x?a=1) now"},
		{"a link within the page is its text", "<a href='#top'>up</a>", "up"},
		{"a link that runs a script is its text", "<a href='javascript:alert(1)'>go</a> <a href='data:x'>on</a>", "go on"},
		{"a link without text is nothing", "a <a href='/x'><img src=y></a> b", "a b"},
		{"links that are not closed", "<a href=/a>a <a href=/b>b", "[a](https://example.com/a) [b](https://example.com/b)"},
		{"brackets in a link", "<a href='/a(b)'>c</a>", "[c](https://example.com/a%28b%29)"},
		{"links begin at the base", "<base href='https://other.example/d/'><a href=x>y</a>", "[y](https://other.example/d/x)"},
		{"a picture is its description", "a<img alt='a cat'>b", "a [picture: a cat] b"},
		{"scripts, styles and forms are left out", "a<script>if(a<b)x</script><style>p{}</style><noscript>n</noscript><select><option>o</select><svg><text>s</text></svg>b", "ab"},
		{"comments are left out", "a<!-- do this --><!DOCTYPE x>b", "ab"},
		{"what is hidden is left out", "a<div hidden>x<div>y</div></div><span style='DISPLAY: none'>z</span><div aria-hidden=true>v</div>b", "ab"},
		{"a hidden element that is not closed by its page hides no paragraph", "<p hidden>a<p>b", "a\n\nb"},
		{"entities", "&lt;b&gt; &amp; &eacute; &#x1b;[31m", "<b> & é ␛[31m"},
		{"the main part", "<nav>menu</nav><main><p>" + long + "</p></main><footer>foot</footer>", strings.TrimSpace(long)},
		{"a main part without text does not count", "<nav>menu</nav><main></main>foot", "menu\n\nfoot"},
		{"a deep page", strings.Repeat("<div><b>", 20000) + "a" + strings.Repeat("</b></div>", 20000), "a"},
		{"a stray end", "</p></ul></pre></a></main>a", "a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, got := readHTML(strings.NewReader(tt.in), base); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
	if title, _ := readHTML(strings.NewReader("<title> a\n\x1b &amp; b</title><svg><title>other</title></svg>"), base); title != "a ␛ & b" {
		t.Errorf("the title is %q", title)
	}
}

func FuzzReadHTML(f *testing.F) {
	for _, seed := range []string{
		"<p>a<b>c", "<ul><li><a href=x>y</a>", "<pre>\x1b]0;x\x07", "<a href=/1><a href=/2></a></a>", "<table><tr><td>", "<main><main>x</main>", "<title><title>", "<ol start=99999999999>",
		"<base href='http://[::1'>", "<a href='http://u:p@h/'>x</a>", "<div hidden><div></div>",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		title, text := readHTML(strings.NewReader(in), base)
		if !utf8.ValidString(title + text) {
			t.Fatalf("not UTF-8: %q %q", title, text)
		}
		if i := strings.IndexFunc(title+text, func(r rune) bool {
			return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r))
		}); i >= 0 {
			t.Fatalf("a control or hidden character at %d: %q", i, title+text)
		}
		if most := 1000 + 300*len(in) + 60*hrefMost; len(text) > most {
			t.Fatalf("%d bytes are %d bytes of text", len(in), len(text))
		}
	})
}

func BenchmarkReadHTML1MiB(b *testing.B) {
	page := strings.Repeat("<div class=x><p>Some words with <a href='/link'>a link</a> and <b>more</b>.</p></div>\n", 1<<20/86)
	b.SetBytes(int64(len(page)))
	for b.Loop() {
		_, _ = readHTML(strings.NewReader(page), base)
	}
}
