"""Names that attackers choose: each would run, load, style or lead away, if a page did not escape it in some place."""

SCRIPTS = (
    *("<script>alert(1)</script>", "<SCRIPT SRC=//127.0.0.1:9/x.js></SCRIPT>", "</script><script>alert(1)</script>"),
    *("</title><script>alert(1)</script>", "</textarea><script>alert(1)</script>"),
    *("</style><script>alert(1)</script>", "</pre><script>alert(1)</script>", "</table><script>alert(1)</script>"),
    *("<script/x>alert(1)</script>", "<scr<script>ipt>alert(1)</scr</script>ipt>", "<img src=x onerror=alert(1)>"),
    *('"><img src=x onerror=alert(1)>', "'><img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)//"),
    *("<IMG SRC=javascript:alert(1)>", "<img/src=`x`onerror=alert(1)>", "<svg onload=alert(1)>"),
    "<svg><script>alert(1)</script></svg>",
    '<svg><a xlink:href="javascript:alert(1)"><text y=9>x</text></a></svg>',
    "<math><mtext></mtext><mglyph><style><img src onerror=alert(1)></style></mglyph></math>",
    *("<body onload=alert(1)>", "<input autofocus onfocus=alert(1)>", "<details open ontoggle=alert(1)>"),
    *("<video><source onerror=alert(1)></video>", "<audio src=x onerror=alert(1)>"),
    *("<iframe src=javascript:alert(1)></iframe>", "<iframe srcdoc='<script>alert(1)</script>'></iframe>"),
    *("<object data=javascript:alert(1)></object>", "<embed src=javascript:alert(1)>"),
    *("<link rel=stylesheet href=//127.0.0.1:9/x.css>", "<style>*{background:url(//127.0.0.1:9/x)}</style>"),
    *("<base href=//127.0.0.1:9/>", "<meta http-equiv=refresh content='0;url=//127.0.0.1:9/'>"),
    *("<form action=//127.0.0.1:9/><button>x</button></form>", '<a href="javascript:alert(1)">x</a>'),
    *('<a href="https://127.0.0.1:9/">x</a>', '" onmouseover="alert(1)" x="', "' onfocus='alert(1)' autofocus='"),
    *('" autofocus onfocus=alert(1) x="', "` onerror=alert(1) `", "javascript:alert(1)"),
    *("<div hx-get='/events' hx-trigger='load'>x</div>", "<div hx-on:load='alert(1)' hx-trigger=load>x</div>"),
    "<div hx-vals='js:{a: alert(1)}' hx-get='/' hx-trigger='load'></div>",
    *("<div sse-connect='//127.0.0.1:9/x' hx-ext='sse'></div>", "<tr hx-swap-oob='true' id='rows'><td>x</td></tr>"),
    *("{{ 7 * 7 }}{% for x in range(9) %}x{% endfor %}", "${alert(1)}", "&lt;script&gt;alert(1)&lt;/script&gt;"),
    *("&#60;script&#62;alert(1)&#60;/script&#62;", "\\u003cscript\\u003ealert(1)\\u003c/script\\u003e"),
    *("%3Cscript%3Ealert(1)%3C/script%3E", "]]><script>alert(1)</script>", "<!--<script>alert(1)</script>-->"),
    "<!DOCTYPE x [<!ENTITY y SYSTEM 'file:///etc/passwd'>]>",
    "data: x\n\nevent: end\ndata: <script>alert(1)</script>\n\n",
    *("line\r\nSet-Cookie: x=1\r\n\r\n<script>alert(1)</script>", "\u202e<script>alert(1)</script>"),
    *("<b>bold</b><br><i>x</i>", "=cmd|' /C calc'!A0"),
)

# What plotly, matplotlib and JavaScript would read.
MARKUP = (
    *("%{customdata}<extra></extra>", "$\\frac{1}{0}$", "$unclosed^{", "_underscore", "__proto__", "constructor"),
    *("`;alert(1);//", "';alert(1);//", '";alert(1);//', "});alert(1);(function(){", "a" * 200),
    "\u00e9\u4e2d\u6587 \U0001f600",
)
# Those that a client may be called, so that a page changes its title if one of them runs.
PAYLOADS = tuple(name.replace("alert(1)", "document.title=1") for name in SCRIPTS + MARKUP if name.isprintable())
