package config

import "testing"

func TestTheHomeChatOfFeishuIsAGroupAPersonOrTheKeyOfASession(t *testing.T) {
	for home, want := range map[string]Home{
		"oc_1":                           {"feishu:group:oc_1", "oc_1"},
		"ou_1":                           {"feishu:dm:ou_1", "ou_1"},
		"feishu:dm:ou_1":                 {"feishu:dm:ou_1", "ou_1"},
		"feishu:group:oc_1:user:ou_1":    {"feishu:group:oc_1:user:ou_1", "oc_1"},
		"feishu:group:oc_1:thread:omt_1": {"feishu:group:oc_1:thread:omt_1", ""}, // where it was last spoken to
		"feishu:group:ou_1":              {}, "feishu:dm:oc_1": {}, "slack:dm:ou_1": {}, "oc_1:thread:omt_1": {}, "om_1": {}, "oc_a b": {}, "feishu:dm:": {},
	} {
		if got, is := homeOfFeishu(home); got != want || is != (want != Home{}) {
			t.Errorf("%q is %+v, %t; want %+v", home, got, is, want)
		}
	}
}
