for (const button of document.querySelectorAll("button[data-copy]")) {
  const command = button.parentElement.querySelector("code");
  const word = button.firstElementChild;
  button.hidden = false;
  button.addEventListener("click", async () => {
    const range = document.createRange();
    range.selectNodeContents(command);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    let copied = false;
    try {
      await navigator.clipboard.writeText(command.textContent);
      copied = true;
    } catch {
      copied = document.execCommand("copy");
    }
    word.textContent = copied ? "Copied" : "Selected";
    setTimeout(() => { word.textContent = "Copy"; }, 2000);
  });
}
