import { render } from "preact";
import { App } from "./app";
import { follow_history } from "./state/store";
import { take_theme } from "./theme";

take_theme();
follow_history();
render(<App />, document.getElementById("page")!);
