package console

import "testing"

func TestALocaleThatIsNotUnicodeGetsASCII(t *testing.T) {
	for _, tc := range []struct {
		env     map[string]string
		unicode bool
	}{
		{nil, true},
		{map[string]string{"LANG": "de_DE.UTF-8"}, true},
		{map[string]string{"LANG": "C.utf8"}, true},
		{map[string]string{"LANG": "C"}, false},
		{map[string]string{"LC_ALL": "POSIX", "LANG": "en_US.UTF-8"}, false},
	} {
		if got := UnicodeLocale(func(name string) string { return tc.env[name] }); got != tc.unicode {
			t.Errorf("%v: Unicode is %v", tc.env, got)
		}
	}
}
