/* That the teacher's key was entered here is kept until the browser is closed. It is worth nothing in another browser:
   the server compares it with the secret that only this one has, which no script can read. */

export default function ({ data: [name, value] }) {
  const secure = location.protocol === "https:" ? "; Secure" : "";
  const gone = value ? "" : "; Max-Age=0";
  // biome-ignore lint/suspicious/noDocumentCookie: browsers have no other way over plain HTTP, as in a classroom.
  document.cookie = `${name}=${value}; Path=/; SameSite=Lax${secure}${gone}`;
}
