// On the front page the simulator itself, in place of its picture: where `make docs` found it built, and the browser can
// show it. From the disk, without WebGL and on a phone the picture stays.
(() => {
  const picture = document.querySelector("img.live");
  if (!picture || location.protocol === "file:") return;
  const address = new URL("page/index.html", location.href).href;
  const webgl = () => Boolean(document.createElement("canvas").getContext("webgl2"));
  fetch(address, { method: "HEAD" }).then((answer) => {
    if (!answer.ok) return;
    const link = picture.closest("a");
    if (link) link.href = address;
    if (innerWidth < 760 || !webgl()) return;
    const frame = document.createElement("iframe");
    frame.src = `${address}#q=reordering`;
    frame.title = "Transorbit, running in this page";
    frame.loading = "lazy";
    frame.style.cssText = "display: block; width: 100%; height: min(54rem, 88vh); border: 1px solid #8886; border-radius: 8px";
    const own = document.createElement("a");
    own.href = frame.src;
    own.textContent = "Open it in a window of its own";
    (link ?? picture).replaceWith(frame, own);
  }, () => undefined);
})();
